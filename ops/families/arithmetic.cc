// Sums and scales of whole tensors, and clipping.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_form.h"
#include "ops/op_schema_builder.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

absl::Status InferSum(InferContext& op) {
  const TensorInfo first = op.Input("X", 0);
  op.SetOutput("Out", first.dtype, std::nullopt);
  // Sparse gradients and arrays are summed too, each in its own way.
  bool all_sparse = true;
  bool all_dense = true;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    all_sparse &= op.Input("X", i).kind == VarType::SELECTED_ROWS;
    all_dense &= op.Input("X", i).kind == VarType::LOD_TENSOR;
  }
  if (all_sparse) op.SetOutputKind("Out", VarType::SELECTED_ROWS);
  if (!all_dense) return absl::OkStatus();
  TensorInfo out = first;
  for (int i = 1; i < op.InputCount("X"); ++i) {
    const TensorInfo x = op.Input("X", i);
    if (!x.has_dims()) continue;
    if (!out.has_dims()) out.dims = x.dims;
    if (!MayBeEqual(x.dims, out.dims)) {
      return absl::InvalidArgumentError(absl::StrCat("X[", i, "] is ", DimsText(x.dims), "; want ",
                                                     DimsText(out.dims), ", as those before"));
    }
  }
  op.SetOutputLike("Out", out);
  return absl::OkStatus();
}

// Writes all arguments to one slot of another op.
void CopyArguments(const google::protobuf::RepeatedPtrField<OpDesc::Var>& from,
                   absl::string_view slot, OpDesc::Var* to) {
  to->set_parameter(std::string(slot));
  for (const OpDesc::Var& var : from) to->mutable_arguments()->MergeFrom(var.arguments());
}

// One scale op for each term.
void MakeSumGradients(const OpDesc& forward, Era, std::vector<OpDesc>* gradients) {
  if (forward.outputs_size() != 1 || forward.outputs(0).arguments_size() != 1) return;
  for (const OpDesc::Var& slot : forward.inputs()) {
    for (const std::string& term : slot.arguments()) {
      OpDesc& op = gradients->emplace_back();
      op.set_type("scale");
      OpDesc::Var* x = op.add_inputs();
      x->set_parameter("X");
      x->add_arguments(absl::StrCat(forward.outputs(0).arguments(0), kGradientSuffix));
      OpDesc::Var* out = op.add_outputs();
      out->set_parameter("Out");
      out->add_arguments(absl::StrCat(term, kGradientSuffix));
      *op.add_attrs() = MakeFloatAttr("scale", 1);
    }
  }
}

// Runs backwards: counts down in place what was counted up.
void MakeIncrementGradient(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients) {
  OpDesc& op = gradients->emplace_back();
  op.set_type("increment");
  CopyArguments(forward.outputs(), "X", op.add_inputs());
  CopyArguments(forward.inputs(), "Out", op.add_outputs());
  const std::optional<OpAttributes> increment = OpAttributes::Of(forward, era);
  if (!increment) return;
  *op.add_attrs() = MakeFloatAttr("step", -static_cast<float>(increment->Float("step")));
}

// Scales the gradient by the same factor, and adds nothing to it.
void SetScaleGradientAttrs(const OpDesc& forward, Era era, std::vector<OpDesc>* gradients) {
  const std::optional<OpAttributes> scale = OpAttributes::Of(forward, era);
  for (OpDesc& op : *gradients) {
    op.clear_attrs();
    if (!scale) continue;
    *op.add_attrs() = MakeFloatAttr("scale", static_cast<float>(scale->Float("scale")));
    *op.add_attrs() = MakeFloatAttr("bias", 0);
    *op.add_attrs() = MakeBoolAttr("bias_after_scale", true);
  }
}

// The product and the sum are rounded each, and a product of -0 gives 0, as the op's kernels do.
// Both factors that change something are one rounding in the reference interpreter, and no stages.
std::optional<StageTrait::Stages> StagesOfScale(const OpAttributes& op) {
  using Kind = EpilogueStage::Kind;
  const auto scale = static_cast<float>(op.Float("scale"));
  const auto bias = static_cast<float>(op.Float("bias"));
  const bool has_tensor =
      std::any_of(op.op().inputs().begin(), op.op().inputs().end(), [](const OpDesc::Var& slot) {
        return slot.parameter() == "ScaleTensor" && slot.arguments_size() > 0;
      });
  if (has_tensor || (scale != 1 && bias != 0) || !std::isfinite(scale) || !std::isfinite(bias)) {
    return std::nullopt;
  }
  Epilogue stages;
  if (scale != 1) stages.push_back({Kind::kMultiply, scale});
  stages.push_back({Kind::kAdd, bias});
  return StageTrait::Stages{std::move(stages)};
}

absl::Status InferScalar(InferContext& op) {
  op.SetOutput("Out", op.Input("X").dtype, Dims{1});
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> ArithmeticOps() {
  OpList ops;
  ops.Define("scale(X, ScaleTensor?) -> (Out)")
      .Doc("Out = scale * X + bias, or scale * (X + bias) where bias_after_scale is false.")
      .Attr("scale", Float(1))
      .Attr("bias", Float(0))
      .Attr("bias_after_scale", Bool(true))
      .Hints("use_mkldnn@2")
      .Infer(SameAs("X", {"Out"}))
      .IsOfSamples()
      .KeepsSignIf([](const OpAttributes& op) {
        return op.op().inputs_size() == 1 && op.Float("scale") >= 0 && op.Float("bias") >= 0;
      })
      .QuantizableOutputs({"Out"})
      .Stage({"X", "Out", /*normalizes=*/false, StagesOfScale})
      .Gradient("scale(X=Out@GRAD, ScaleTensor) -> (Out=X@GRAD)")
      .GradientBy(SetScaleGradientAttrs);
  ops.Define("sum(X*) -> (Out)")
      .Doc("Sum of tensors of one shape.")
      .Hints("use_mkldnn, mkldnn_data_type@2")
      .Infer(InferSum)
      .IsOfSamples()
      .KeepsSign()
      .GradientBy(MakeSumGradients);
  ops.Define("increment(X) -> (Out)")
      .Doc("Out = X + step, in place as a rule.")
      .Attr("step", Float(1))
      .Infer(SameAs("X", {"Out"}))
      .GradientBy(MakeIncrementGradient);
  ops.Define("mean(X) -> (Out)")
      .Doc("Mean of all elements: [1], since 2.5 a scalar.")
      .Infer(InferScalar)
      .TakeLod({})
      .QuantizableOutputs({"Out"})
      .Gradient("mean_grad(X, Out@GRAD) -> (X@GRAD)")
      .GradientBy(ClearGradientAttrs);
  ops.Define("clip(X, Min?, Max?) -> (Out)")
      .Doc("Out = min(max(X, min), max).")
      .Attr("min", Required(FLOAT))
      .Attr("max", Required(FLOAT))
      .Hints("use_mkldnn@2, mkldnn_data_type@2")
      .Infer(SameAs("X", {"Out"}))
      .IsOfSamples()
      .NeverNegativeIf([](const OpAttributes& op) {
        return op.op().inputs_size() == 1 && op.Float("min") >= 0 && op.Float("max") >= 0;
      })
      .KeepsSignIf(
          [](const OpAttributes& op) { return op.op().inputs_size() == 1 && op.Float("max") >= 0; })
      .QuantizableOutputs({"Out"})
      .Gradient("clip_grad(X, Min, Max, Out@GRAD) -> (X@GRAD)");
  ops.Define("clip_by_norm(X) -> (Out)")
      .Doc("Out = X * max_norm / ||X|| where the norm is more than max_norm.")
      .Attr("max_norm", Required(FLOAT))
      .Infer(SameAs("X", {"Out"}));
  ops.Define("squared_l2_norm(X) -> (Out)")
      .Doc("Sum of squares.")
      .Infer(InferScalar)
      .TakeLod({})
      .Gradient("squared_l2_norm_grad(X, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
