// Simulated quantization at a range, or at a step and a zero point, that other ops or the optimizer
// give, with gradients for these: what quantizers that train their ranges are made of. The
// reference has no such ops.

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "ops/surrogate.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// The number of ranges: one or, along quant_axis, one for each channel; unknown if X's rank is.
absl::StatusOr<int64_t> RangeCount(InferContext& op) {
  const int64_t axis = op.Int("quant_axis");
  if (axis == -1) return 1;
  const TensorInfo x = op.Input("X");
  if (!x.has_dims()) return kUnknownDim;
  if (axis >= 0 && axis < x.rank()) return x.dims[axis];
  return absl::InvalidArgumentError(absl::StrCat("quant_axis is ", axis, " and X is ",
                                                 DimsText(x.dims), "; want -1 or an axis of X"));
}

absl::Status InferQuantize(InferContext& op) {
  RETURN_IF_ERROR(CheckBits("bit_length", op.Int("bit_length")));
  RETURN_IF_ERROR(SurrogateOf(op.String(kSurrogateAttr)).status());
  ASSIGN_OR_RETURN(const int64_t ranges, RangeCount(op));
  const TensorInfo scale = op.Input("InScale");
  if (scale.has_dims() && (scale.rank() != 1 || !MayBeEqual(scale.dims[0], ranges))) {
    return absl::InvalidArgumentError(
        absl::StrCat("InScale is ", DimsText(scale.dims), "; want ", DimsText(Dims{ranges})));
  }
  op.SetOutputLike("Out", op.Input("X"));
  return absl::OkStatus();
}

absl::Status InferGradient(InferContext& op) {
  op.SetOutputLike("X@GRAD", op.Input("X"));
  op.SetOutputLike("InScale@GRAD", op.Input("InScale"));
  return absl::OkStatus();
}

absl::Status InferAffine(InferContext& op) {
  RETURN_IF_ERROR(CheckBits("bit_length", op.Int("bit_length")));
  RETURN_IF_ERROR(SurrogateOf(op.String(kSurrogateAttr)).status());
  for (const char* slot : {"InScale", "InZeroPoint"}) {
    const TensorInfo number = op.Input(slot);
    if (!number.has_dims() || (number.rank() == 1 && MayBeEqual(number.dims[0], 1))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(slot, " is ", DimsText(number.dims), "; want [1]"));
  }
  op.SetOutputLike("Out", op.Input("X"));
  return absl::OkStatus();
}

absl::Status InferAffineGradient(InferContext& op) {
  op.SetOutputLike("InZeroPoint@GRAD", op.Input("InZeroPoint"));
  return InferGradient(op);
}

}  // namespace

std::vector<OpSchema> QuantizeAtRangeOps() {
  OpList ops;
  ops.Define("fake_quantize_dequantize_at_range(X, InScale) -> (Out)")
      .Doc(
          "Codes of X at the range InScale, then dequantized: one range [1] or, with quant_axis, "
          "one for each channel [C]. The gradients are those of the surrogate (ops/surrogate.h), "
          "with the step InScale / largest code.")
      .Quantizes(QuantOp::kQuantizeDequantize)
      .KeepsSign()
      .Attr("bit_length", Int(8))
      .Attr("round_type", Int(1))
      .Attr("quant_axis", Int(-1))
      .Attr(kSurrogateAttr, String("clamp_then_round"))
      .Gradient(
          "fake_quantize_dequantize_at_range_grad(X, InScale, Out@GRAD) -> "
          "(X@GRAD, InScale@GRAD)")
      .GradientInfer(InferGradient)
      .Infer(InferQuantize);
  ops.Define("fake_quantize_dequantize_affine(X, InScale, InZeroPoint) -> (Out)")
      .Doc(
          "Codes of X with the step InScale [1] and the zero point InZeroPoint [1], then "
          "dequantized: (clamp(round(X * (1 / step)) + zero point) - zero point) * step. The "
          "gradients are those of the surrogate (ops/surrogate.h), for codes less the zero point; "
          "that has the gradient -step outside, and none inside.")
      .Quantizes(QuantOp::kQuantizeDequantize)
      .ScalesAreSteps()
      .Attr("bit_length", Int(8))
      .Attr("unsigned_codes", Bool(false))
      .Attr("round_type", Int(1))
      .Attr(kSurrogateAttr, String("clamp_then_round"))
      .Gradient(
          "fake_quantize_dequantize_affine_grad(X, InScale, InZeroPoint, Out@GRAD) -> "
          "(X@GRAD, InScale@GRAD, InZeroPoint@GRAD)")
      .GradientInfer(InferAffineGradient)
      .Infer(InferAffine);
  return ops.Build();
}

}  // namespace fixpoint
