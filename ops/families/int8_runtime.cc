// The reference's ops between float and integer tensors that oneDNN runs. Scale is 1 / step here:
// code = round(x * Scale) + Shift.

#include "ops/code_dtype.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferQuantize(InferContext& op) {
  TensorInfo output = op.Input("Input");
  const bool shifted = op.era() == Era::kPaddle2 && op.Float("Shift") != 0;
  output.dtype = CodeDtype(!op.Bool("is_negative_input") || shifted);
  if (op.era() == Era::kPaddle2 && op.Bool("bfloat16")) output.dtype = VarType::BF16;
  op.SetOutputLike("Output", output);
  return absl::OkStatus();
}

absl::Status InferDequantize(InferContext& op) {
  TensorInfo output = op.Input("Input");
  output.dtype = VarType::FP32;
  op.SetOutputLike("Output", output);
  return absl::OkStatus();
}

absl::Status InferRequantize(InferContext& op) {
  TensorInfo output = op.Input("Input");
  if (op.era() == Era::kPaddle2) output.dtype = std::nullopt;  // a shift makes it unsigned
  op.SetOutputLike("Output", output);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> Int8RuntimeOps() {
  OpList ops;
  ops.Define("quantize(Input) -> (Output)")
      .Doc("Codes of Input: INT8 if is_negative_input and no Shift, else UINT8.")
      .Quantizes(QuantOp::kQuantize)
      .Attr("is_negative_input", Bool(false))
      .Attr("Scale", Float(1))
      .Attr("Shift", Float(0), Eras::kPaddle2)
      .Attr("output_format", String("NHWC"))
      .Attr("bfloat16", Bool(false), Eras::kPaddle2)
      .Infer(InferQuantize);
  ops.Define("dequantize(Input) -> (Output)")
      .Doc("Output = (Input - Shift) / Scale.")
      .Quantizes(QuantOp::kDequantize)
      .Attr("Scale", Float(1))
      .Attr("Shift", Float(0), Eras::kPaddle2)
      .Infer(InferDequantize);
  ops.Define("requantize(Input) -> (Output)")
      .Doc("Codes at Scale_in to codes at Scale_out.")
      .Attr("Scale_in", Float(1))
      .Attr("Scale_out", Float(1))
      .Attr("Shift_in", Float(1), Eras::kPaddle2)
      .Attr("Shift_out", Float(1), Eras::kPaddle2)
      .Infer(InferRequantize);
  return ops.Build();
}

}  // namespace fixpoint
