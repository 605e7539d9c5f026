// Normalization, and dropout.

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/norm_factors.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"
#include "ops/spectral_norm.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status CheckVector(InferContext& op, absl::string_view slot, int64_t length) {
  const TensorInfo vector = op.Input(slot);
  if (!vector.has_dims()) return absl::OkStatus();
  const absl::StatusOr<int64_t> count = ElementCount(vector.dims);
  if (count.ok() && MayBeEqual(*count, length)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is ", DimsText(vector.dims), "; want ", length, " elements"));
}

absl::Status InferBatchNorm(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Y", x);
  int64_t channels = kUnknownDim;
  if (x.has_dims()) {
    const bool channels_last = IsChannelsLast(op.String("data_layout"));
    channels = x.rank() == 1 ? x.dims[0] : channels_last ? x.dims.back() : x.dims[1];
  }
  for (const char* slot : {"Scale", "Bias", "Mean", "Variance"}) {
    RETURN_IF_ERROR(CheckVector(op, slot, channels));
  }
  const std::optional<DataType> dtype = op.Input("Mean").dtype;
  for (const char* slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) {
    op.SetOutput(slot, dtype, Dims{channels});
  }
  return absl::OkStatus();
}

absl::Status InferFoldedBatchNorm(InferContext& op) {
  RETURN_IF_ERROR(InferBatchNorm(op));
  const TensorInfo x = op.Input("X");
  const TensorInfo unfolded = op.Input("Unfolded");
  if (!x.has_dims() || !unfolded.has_dims()) return absl::OkStatus();
  const int64_t channels =
      IsChannelsLast(op.String("data_layout")) || x.rank() == 1 ? x.dims.back() : x.dims[1];
  RETURN_IF_ERROR(CheckVector(op, "Deviation", channels));
  bool is_like_x = unfolded.rank() == x.rank();
  for (int i = 0; is_like_x && i < x.rank(); ++i) {
    is_like_x = MayBeEqual(x.dims[i], unfolded.dims[i]);
  }
  if (is_like_x) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Unfolded is ", DimsText(unfolded.dims), "; want ",
                                                 DimsText(x.dims), ", as X is"));
}

// The gradient op reads the statistics that its forward op used only if those are not the batch's
// own.
void DropStatisticsUnlessGlobal(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients) {
  const std::optional<OpAttributes> norm = OpAttributes::Of(forward, era);
  if (!norm) return;
  const bool is_test = era == Era::kPaddle2 && norm->Bool("is_test");
  if (is_test || norm->Bool("use_global_stats")) return;
  for (const char* slot : {"Mean", "Variance"}) DropGradientInput(slot, gradients);
}

std::optional<StageTrait::Stages> StagesOfNorm(const OpAttributes& op) {
  using Kind = EpilogueStage::Kind;
  if (!UsesGivenStatistics(op, op.Bool("is_test")) || op.Bool("fuse_with_relu"))
    return std::nullopt;
  return StageTrait::Stages{{{Kind::kMultiplyChannel}, {Kind::kAddChannel}}};
}

absl::Status InferGroupNormGradient(InferContext& op) {
  RETURN_IF_ERROR(InferGradients(op));
  op.SetOutputLike("X@GRAD", op.Input("Y"));
  return absl::OkStatus();
}

absl::Status InferLayerNorm(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Y", x);
  if (!x.has_dims()) return absl::OkStatus();
  const int64_t begin = op.Int("begin_norm_axis");
  if (begin < 1 || begin >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("begin_norm_axis is ", begin, " and X is ",
                                                   DimsText(x.dims), "; want 1 to ", x.rank() - 1));
  }
  ASSIGN_OR_RETURN(const int64_t rows, ElementCount(x.dims.subspan(0, begin)));
  ASSIGN_OR_RETURN(const int64_t width, ElementCount(x.dims.subspan(begin)));
  RETURN_IF_ERROR(CheckVector(op, "Scale", width));
  RETURN_IF_ERROR(CheckVector(op, "Bias", width));
  // Releases differ in whether the rows are one dimension or X's own.
  if (op.era() == Era::kPaddle2) return absl::OkStatus();
  op.SetOutput("Mean", std::nullopt, Dims{rows});
  op.SetOutput("Variance", std::nullopt, Dims{rows});
  return absl::OkStatus();
}

absl::Status InferDropout(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Out", x);
  TensorInfo mask = x;
  mask.dtype = std::nullopt;  // before 1.5 that of X
  if (op.era() == Era::kPaddle2) mask.dtype = VarType::UINT8;
  op.SetOutputLike("Mask", mask);
  return absl::OkStatus();
}

absl::Status InferSpectralNorm(InferContext& op) {
  const TensorInfo weight = op.Input("Weight");
  op.SetOutputLike("Out", weight);
  RETURN_IF_ERROR(CheckPowerIterations(op.Int("power_iters")));
  if (!weight.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const SpectralMatrix matrix, SpectralMatrix::Of(weight.dims, op.Int("dim")));
  for (const auto& [slot, wanted] : {std::pair("U", matrix.rows), {"V", matrix.columns}}) {
    const TensorInfo vector = op.Input(slot);
    if (!vector.has_dims()) continue;
    const absl::StatusOr<int64_t> size = ElementCount(vector.dims);
    if (size.ok() && (*size < 0 || MayBeEqual(*size, wanted))) continue;
    return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(vector.dims),
                                                   " and Weight ", DimsText(weight.dims), "; want ",
                                                   wanted, " elements"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> NormalizationOps() {
  OpList ops;
  ops.Define(
         "batch_norm(X, Scale@1, Bias@1, Scale?@2, Bias?@2, Mean, Variance, MomentumTensor?) -> "
         "(Y, MeanOut, VarianceOut, SavedMean, SavedVariance, ReserveSpace?)")
      .Doc(
          "Y = (X - mean) / sqrt(variance + epsilon) * Scale + Bias per channel; the batch's own "
          "mean and variance unless is_test or use_global_stats. SavedVariance is 1 / "
          "sqrt(variance "
          "+ epsilon).")
      .Attr("momentum", Float(0.9f))
      .Attr("epsilon", Float(1e-5f))
      .Attr("data_layout", String("NCHW"))
      .Attr("is_test", Bool(false))
      .Attr("use_global_stats", Bool(false))
      .Attr("trainable_statistics", Bool(false))
      .Attr("fuse_with_relu", Bool(false))
      .Hints("use_mkldnn")
      .Infer(InferBatchNorm)
      .QuantizableOutputs({"Y"})
      .Gradient(
          "batch_norm_grad(X, Scale, Bias, Mean=MeanOut?, Variance=VarianceOut?, MeanOut@2, "
          "VarianceOut@2, SavedMean, SavedVariance, ReserveSpace, Y@GRAD) -> "
          "(X@GRAD, Scale@GRAD, Bias@GRAD)")
      .Stage({"X", "Y", /*normalizes=*/true, StagesOfNorm})
      .GradientBy(DropStatisticsUnlessGlobal);
  ops.Define(
         "folded_batch_norm(X, Unfolded, Deviation, Scale, Bias, Mean, Variance) -> "
         "(Y, MeanOut, VarianceOut, SavedMean, SavedVariance)")
      .Doc(
          "The batch norm of a product whose weight is multiplied by Scale / Deviation per "
          "channel, "
          "where Deviation is sqrt(Variance + epsilon). X is that product and Unfolded the one "
          "with "
          "the weight as it is, whose mean and variance are the batch's: Y = X * Deviation / "
          "sqrt(variance + epsilon) + (Bias - mean * Scale / sqrt(variance + epsilon)); in test "
          "mode "
          "X + (Bias - Mean * Scale / Deviation). SavedVariance is 1 / sqrt(variance + epsilon).")
      .Attr("momentum", Float(0.9f))
      .Attr("epsilon", Float(1e-5f))
      .Attr("data_layout", String("NCHW"))
      .Attr("is_test", Bool(false))
      .Infer(InferFoldedBatchNorm)
      .QuantizableOutputs({"Y"})
      .Gradient(
          "folded_batch_norm_grad(X, Unfolded, Deviation, Scale, Mean=MeanOut, SavedMean, "
          "SavedVariance, Y@GRAD) -> (X@GRAD, Unfolded@GRAD, Scale@GRAD, Bias@GRAD)");
  ops.Define("layer_norm(X, Scale?, Bias?) -> (Y, Mean, Variance)")
      .Doc("Normalizes over the axes from begin_norm_axis on. Mean and Variance [rows].")
      .Attr("epsilon", Float(1e-5f))
      .Attr("begin_norm_axis", Int(1))
      .Hints("is_test@2, use_mkldnn@2, mkldnn_data_type@2")
      .Infer(InferLayerNorm)
      .QuantizableInput("X", SlotRole::ACTIVATION)
      .QuantizableOutputs({"Y"})
      .Gradient(
          "layer_norm_grad(X, Scale, Bias, Mean, Variance, Y@GRAD) -> "
          "(X@GRAD, Scale@GRAD, Bias@GRAD)");
  ops.Define(
         "instance_norm(X, Scale@1, Bias@1, Scale?@2, Bias?@2) -> (Y, SavedMean@1, "
         "SavedVariance@1, SavedMean?@2, SavedVariance?@2)")
      .Doc("Normalizes each image and channel on its own.")
      .Attr("epsilon", Float(1e-5f))
      .Infer(SameAs("X", {"Y"}))
      .QuantizableOutputs({"Y"})
      .Gradient(
          "instance_norm_grad(X, Scale, SavedMean, SavedVariance, Y@GRAD) -> "
          "(X@GRAD, Scale@GRAD, Bias@GRAD)");
  ops.Define("group_norm(X, Scale?, Bias?) -> (Y, Mean, Variance)")
      .Doc("Normalizes each image over groups of channels.")
      .Attr("epsilon", Float(1e-5f))
      .Attr("groups", Required(INT), Eras::kFluid)
      .Attr("groups", Int(-1), Eras::kPaddle2)
      .Attr("data_layout", String("NCHW"))
      .Infer(SameAs("X", {"Y"}))
      .QuantizableOutputs({"Y", "Mean", "Variance"})
      .Gradient(
          "group_norm_grad(Scale, Bias, Y, Mean, Variance, Y@GRAD) -> "
          "(X@GRAD, Scale@GRAD, Bias@GRAD)",
          Eras::kFluid)
      .Gradient(
          "group_norm_grad(X, Scale, Bias, Y, Mean, Variance, Y@GRAD) -> "
          "(X@GRAD, Scale@GRAD, Bias@GRAD)",
          Eras::kPaddle2)
      .GradientInfer(InferGroupNormGradient);
  ops.Define("spectral_norm(Weight, U, V) -> (Out)")
      .Doc(
          "Weight / sigma, its largest singular value as a matrix of rows along the axis dim. "
          "power_iters iterations find sigma from the vectors U of its rows and V of its columns.")
      .Attr("dim", Int(0))
      .Attr("power_iters", Int(1))
      .Attr("eps", Float(1e-12f))
      .Infer(InferSpectralNorm)
      .TakeLod({})
      .Gradient("spectral_norm_grad(Weight, U, V, Out@GRAD) -> (Weight@GRAD)");
  ops.Define("dropout(X, Seed?) -> (Out, Mask@1, Mask?@2)")
      .Doc(
          "Drops elements with dropout_prob. upscale_in_train divides the others by 1 - p; "
          "downgrade_in_infer multiplies by it in inference.")
      .DrawsNumbers()
      .Attr("dropout_prob", Float(0.5f))
      .Attr("is_test", Bool(false))
      .Attr("fix_seed", Bool(false))
      .Attr("seed", Int(0))
      .Attr("dropout_implementation", String("downgrade_in_infer"))
      .Infer(InferDropout)
      .QuantizableOutputs({"Out"})
      .KeepsSign()
      .Gradient("dropout_grad(Mask, Out@GRAD) -> (X@GRAD)")
      .GradientInfer(SameAs("Out@GRAD", {"X@GRAD"}));
  ops.Define("lrn(X) -> (Out, MidOut)")
      .Doc(
          "Out = X * MidOut^-beta, MidOut = k + alpha * the sum of squares of X over the n "
          "channels "
          "around each.")
      .Attr("n", Int(5))
      .Attr("k", Float(2))
      .Attr("alpha", Float(1e-4f))
      .Attr("beta", Float(0.75f))
      .Attr("data_format", String("AnyLayout"))
      .Hints("is_test, use_mkldnn")
      .Infer(SameAs("X", {"Out", "MidOut"}))
      .IsOfSamples()
      .Gradient("lrn_grad(X, Out, MidOut, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
