// A bias in steps of the sums of products of codes that it is added to (ops/bias_codes.h).

#include "ops/families/quantized_bias.h"

#include "absl/strings/str_cat.h"
#include "ops/channel_ranges.h"
#include "ops/dims.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferBias(InferContext& op) {
  for (const char* code : {"input_largest_code", "weight_largest_code"}) {
    if (op.Int(code) >= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(code, " is ", op.Int(code), "; want 1 or more"));
  }
  TensorInfo out = op.Input("X");
  const bool has_ranges = op.HasInput("WeightScale");
  const TensorInfo ranges = has_ranges ? op.Input("WeightScale") : TensorInfo();
  if (const int64_t code = op.Int("weight_largest_code"); !has_ranges && code != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight_largest_code is ", code, ", and there is no WeightScale; want 1"));
  }
  if (out.has_dims() && out.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(out.dims), "; want one number for each channel"));
  }
  if (has_ranges && out.has_dims()) {
    RETURN_IF_ERROR(CheckWeightScale(ranges.dims, out.dims, /*axis=*/0));
  }
  out.dtype = VarType::FP32;
  op.SetOutputLike("Out", out);
  return absl::OkStatus();
}

absl::Status InferQuantizedBias(InferContext& op) {
  const int64_t bits = op.Int("bit_length");
  if (bits != 16 && bits != 32) {
    return absl::InvalidArgumentError(absl::StrCat("bit_length is ", bits, "; want 16 or 32"));
  }
  return InferBias(op);
}

OpSchemaBuilder& Define(OpList& ops, QuantOp quant_op, absl::string_view type) {
  return ops.Define(absl::StrCat(type, "(X, InputScale, WeightScale?) -> (Out)"))
      .Quantizes(quant_op)
      .Attr("input_largest_code", Required(INT))
      .Attr("weight_largest_code", Required(INT));
}

}  // namespace

void DefineBiasQuantizers(OpList& ops) {
  Define(ops, QuantOp::kQuantizeDequantize, "fake_quantize_dequantize_bias")
      .Doc(
          "Out = round(X / step) * step, ties to even, with the step of sums of products of codes: "
          "(InputScale / input_largest_code) * (WeightScale / weight_largest_code), of one weight "
          "range or one for each channel of X [C]; a scale that is a step has the largest code 1. "
          "Without WeightScale, the step is that of codes to which Out is added. round(X / step) "
          "is clamped to bit_length bits, 16 or 32 (to 2^30). A sum with Out is that of the "
          "integers.")
      .Attr("bit_length", Int(32))
      .Infer(InferQuantizedBias)
      .Gradient("stright_throuth_estimator_grad(Out@GRAD) -> (X@GRAD)", Eras::kPaddle2)
      .GradientBy(ClearGradientAttrs);
  Define(ops, QuantOp::kDequantize, "fake_dequantize_bias")
      .Doc(
          "Out = X * step, of the codes X [C], INT16 or INT32, that fake_quantize_dequantize_bias "
          "makes.")
      .Infer(InferBias);
}

}  // namespace fixpoint
