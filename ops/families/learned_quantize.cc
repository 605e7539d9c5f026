// Simulated quantization with a range that gradient descent finds: Learned Step Size Quantization
// (Esser et al. 2020, arXiv 1902.08153). Ops that the reference does not have.
//
// The step s between two codes is kept as the range s * n that the largest code n stands for, which
// is what the other quantizers, and frozen programs, call the scale.

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferQuantize(InferContext& op, int64_t scales) {
  RETURN_IF_ERROR(CheckBits("bit_length", op.Int("bit_length")));
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Out", x);
  for (const char* state : {"OutScale", "OutInitialized"}) {
    op.SetOutput(state, x.dtype, Dims{scales});
  }
  return absl::OkStatus();
}

absl::Status InferPerTensor(InferContext& op) { return InferQuantize(op, 1); }

absl::Status InferPerChannel(InferContext& op) {
  const TensorInfo x = op.Input("X");
  if (!x.has_dims()) return InferQuantize(op, kUnknownDim);
  const int64_t axis = op.Int("quant_axis");
  if (axis < 0 || axis >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("quant_axis is ", axis, " and X is ",
                                                   DimsText(x.dims), "; want an axis of X"));
  }
  return InferQuantize(op, x.dims[axis]);
}

absl::Status InferGradient(InferContext& op) {
  op.SetOutputLike("X@GRAD", op.Input("X"));
  op.SetOutputLike("InScale@GRAD", op.Input("OutScale"));
  return absl::OkStatus();
}

OpSchemaBuilder& Define(OpList& ops, const std::string& type) {
  return ops
      .Define(absl::StrCat(type, "(X, InScale, InInitialized?) -> ",
                           "(Out, OutScale, OutInitialized?)"))
      .Quantizes(QuantOp::kQuantizeDequantize)
      .KeepsSign()
      .Attr("bit_length", Int(8))
      .Attr("round_type", Int(1))
      .Attr("is_test", Bool(false))
      .TrainingState("InScale -> OutScale, InInitialized -> OutInitialized")
      .Gradient(absl::StrCat(type, "_grad(X, OutScale, Out@GRAD) -> (X@GRAD, InScale@GRAD)"))
      .GradientAttr("per_sample", Bool(false))
      .GradientInfer(InferGradient);
}

}  // namespace

std::vector<OpSchema> LearnedQuantizeOps() {
  OpList ops;
  Define(ops, "fake_quantize_dequantize_lsq")
      .Doc(
          "Codes of X at a learned range, then dequantized. Where InInitialized is 0, the range is "
          "first set to 2 * mean|X| * sqrt(n), n being the largest code, and unless that is 0, "
          "OutInitialized becomes 1. The gradient of the range is scaled by sqrt(n / N), N the "
          "elements of X or, per_sample, of X along all axes but the first. is_test: at InScale.")
      .Infer(InferPerTensor);
  Define(ops, "fake_channel_wise_quantize_dequantize_lsq")
      .Doc(
          "fake_quantize_dequantize_lsq with InScale and InInitialized [C], one range per channel, "
          "C along quant_axis. N are the elements of one channel.")
      .Attr("quant_axis", Int(0))
      .Infer(InferPerChannel);
  return ops.Build();
}

}  // namespace fixpoint
