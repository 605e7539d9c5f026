// The ops of lowered programs between numbers and codes, and on codes alone. Sums of products of
// codes stand beside the ops that they come from: integer_conv2d, integer_mul, ...

#include "ops/families/integer_ops.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {
namespace {

absl::Status InferDequantize(InferContext& op) {
  TensorInfo x = op.Input("X");
  x.dtype = VarType::FP32;
  op.SetOutputLike("Out", x);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> LoweredOps() {
  OpList ops;
  DefineStored(ops.Define("integer_quantize(X) -> (Out)"))
      .Doc(
          "The codes of X, as integers: X * multiplier, between smallest_code and "
          "out_largest_code, rounded half to even.")
      .Quantizes(QuantOp::kQuantize)
      .KeepsSign()
      .Attr("multiplier", Required(FLOAT))
      .Attr("smallest_code", Required(INT))
      .Infer(InferStored(SameAs("X", {"Out"}), "Out"));
  ops.Define("integer_dequantize(X) -> (Out)")
      .Doc("What the codes X, as integers, stand for: X * range / largest_code.")
      .Quantizes(QuantOp::kDequantize)
      .KeepsSign()
      .Attr("range", Required(FLOAT))
      .Attr("largest_code", Required(INT))
      .Infer(InferDequantize);
  return ops.Build();
}

}  // namespace fixpoint
