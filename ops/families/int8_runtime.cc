// The reference's ops between float and integer tensors that oneDNN runs. Scale is 1 / step here:
// code = round(x * Scale + Shift), saturated. Two of them are also what paddle-mobile calls the ops
// that simulate quantization: with X instead of Input they are fake_quantize_abs_max, or another
// one that has InScale in inference, and fake_dequantize_max_abs, or the one by channels.

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// Error (kInvalidArgument): not one of both inputs is there.
absl::Status CheckForms(const InferContext& op) {
  if (op.HasInput("X") != op.HasInput("Input")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      op.HasInput("X") ? "there are both" : "there is neither", " X and Input; want one of them"));
}

absl::Status InferQuantize(InferContext& op) {
  RETURN_IF_ERROR(CheckForms(op));
  if (op.HasInput("X")) {
    RETURN_IF_ERROR(CheckBits("bit_length", op.Int("bit_length"), kLeastBitsOfOps));
    const TensorInfo x = op.Input("X");
    op.SetOutputLike("Out", x);
    op.SetOutput("OutScale", x.dtype, Dims{1});
    return absl::OkStatus();
  }
  if (op.Float("Scale") == 0) return absl::InvalidArgumentError("Scale is 0; want another number");
  TensorInfo output = op.Input("Input");
  const bool shifted = op.era() == Era::kPaddle2 && op.Float("Shift") != 0;
  output.dtype = CodeDtype(!op.Bool("is_negative_input") || shifted);
  if (op.era() == Era::kPaddle2 && op.Bool("bfloat16")) output.dtype = VarType::BF16;
  op.SetOutputLike("Output", output);
  return absl::OkStatus();
}

absl::Status InferDequantize(InferContext& op) {
  RETURN_IF_ERROR(CheckForms(op));
  if (op.HasInput("X")) {
    TensorInfo out = op.Input("X");
    if (op.HasInput("Scale") == (op.InputCount("Scales") > 0)) {
      return absl::InvalidArgumentError("X has no scale or two; want one of Scale and Scales");
    }
    out.dtype = op.HasInput("Scale") ? op.Input("Scale").dtype : op.Input("Scales", 0).dtype;
    op.SetOutputLike("Out", out);
    return absl::OkStatus();
  }
  if (op.Float("Scale") == 0) return absl::InvalidArgumentError("Scale is 0; want another number");
  TensorInfo output = op.Input("Input");
  output.dtype = VarType::FP32;
  op.SetOutputLike("Output", output);
  return absl::OkStatus();
}

absl::Status InferRequantize(InferContext& op) {
  TensorInfo output = op.Input("Input");
  const bool shifted =
      op.era() == Era::kPaddle2 && (op.Float("Shift_in") != 0 || op.Float("Shift_out") != 0);
  if (shifted) output.dtype = VarType::UINT8;
  op.SetOutputLike("Output", output);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> Int8RuntimeOps() {
  OpList ops;
  ops.Define("quantize(Input?, X?, InScale?) -> (Output?, Out?, OutScale?)")
      .Doc(
          "Codes of Input: round(Input * Scale + Shift), INT8 if is_negative_input and no Shift, "
          "else UINT8. With X instead, paddle-mobile's name of fake_quantize_abs_max, and with "
          "InScale of those that have one in inference.")
      .Attr("bit_length", Int(8))
      .Attr("round_type", Int(1))
      .Attr("is_test", Bool(true))
      .Quantizes(QuantOp::kQuantize)
      .Attr("is_negative_input", Bool(false))
      .Attr("Scale", Float(1))
      .Attr("Shift", Float(0), Eras::kPaddle2)
      .Attr("output_format", String("NHWC"))
      .Attr("bfloat16", Bool(false), Eras::kPaddle2)
      .Infer(InferQuantize);
  ops.Define("dequantize(Input?, X?, Scale?, Scales*?) -> (Output?, Out?)")
      .Doc(
          "Output = (Input - Shift) / Scale. With X instead, paddle-mobile's name of "
          "fake_dequantize_max_abs, and with Scales of fake_channel_wise_dequantize_max_abs.")
      .Attr("max_range", Float(0))
      .Attr("quant_bits", Ints({8}))
      .Attr("quant_axis", Int(-1))
      .Attr("x_num_col_dims", Int(1))
      .Quantizes(QuantOp::kDequantize)
      .Attr("Scale", Float(1))
      .Attr("Shift", Float(0), Eras::kPaddle2)
      .Infer(InferDequantize);
  ops.Define("requantize(Input) -> (Output)")
      .Doc(
          "Codes at Scale_in to codes at Scale_out: round(Input * r + clip(Shift_out - Shift_in * "
          "r)), r = Scale_out / Scale_in, the shift a UINT8, the result too if there is a shift.")
      .Attr("Scale_in", Float(1))
      .Attr("Scale_out", Float(1))
      .Attr("Shift_in", Float(1), Eras::kPaddle2)
      .Attr("Shift_out", Float(1), Eras::kPaddle2)
      .Infer(InferRequantize);
  return ops.Build();
}

}  // namespace fixpoint
