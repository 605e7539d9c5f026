// Sums of products of codes that become codes by a multiplier and a shift (ops/requantization.h).

#include "ops/families/requantization.h"

#include "absl/strings/str_cat.h"
#include "ops/channel_ranges.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferRequantize(InferContext& op) {
  for (const char* code : {"input_largest_code", "weight_largest_code", "output_largest_code"}) {
    if (op.Int(code) >= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(code, " is ", op.Int(code), "; want 1 or more"));
  }
  const int64_t bits = op.Int("multiplier_bits");
  const int64_t roundings = op.Int("roundings");
  if (bits != 16 && bits != 32) {
    return absl::InvalidArgumentError(absl::StrCat("multiplier_bits is ", bits, "; want 16 or 32"));
  }
  if (roundings != 1 && roundings != 2) {
    return absl::InvalidArgumentError(absl::StrCat("roundings is ", roundings, "; want 1 or 2"));
  }
  const int64_t axis = op.Int("channel_axis");
  TensorInfo out = op.Input("X");
  const TensorInfo ranges = op.Input("WeightScale");
  if (axis < 0 || (out.has_dims() && axis >= out.rank())) {
    return absl::InvalidArgumentError(
        absl::StrCat("channel_axis is ", axis, "; want an axis of X"));
  }
  if (out.has_dims()) {
    RETURN_IF_ERROR(CheckWeightScale(ranges.dims, out.dims, static_cast<int>(axis)));
  }
  out.dtype = VarType::FP32;
  op.SetOutputLike("Out", out);
  return absl::OkStatus();
}

}  // namespace

void DefineRequantization(OpList& ops) {
  ops.Define("fake_requantize(X, InputScale, WeightScale, OutputScale) -> (Out)")
      .Doc(
          "What a multiplier and a shift make of sums of products of codes (ops/fixed_point.h). X "
          "is the sums times their steps, (InputScale / input_largest_code) * (WeightScale / "
          "weight_largest_code), of one weight range or one for each channel; Out is the codes, "
          "before they are clamped and without a zero point, times their step, OutputScale / "
          "output_largest_code. A scale that is a step has the largest code 1.")
      .KeepsSign()
      .IsOfSamples()
      .Attr("input_largest_code", Required(INT))
      .Attr("weight_largest_code", Required(INT))
      .Attr("output_largest_code", Required(INT))
      .Attr("channel_axis", Required(INT))
      .Attr("multiplier_bits", Int(32))
      .Attr("roundings", Int(1))
      .Gradient("stright_throuth_estimator_grad(Out@GRAD) -> (X@GRAD)", Eras::kPaddle2)
      .GradientBy(ClearGradientAttrs)
      .Infer(InferRequantize);
}

}  // namespace fixpoint
