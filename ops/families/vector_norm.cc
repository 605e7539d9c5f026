// Norms of the vectors along an axis.

#include <vector>

#include "ops/infer.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferNorm(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  if (!x.has_dims() || (op.era() == Era::kPaddle2 && op.Bool("asvector"))) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  Dims out(x.dims.begin(), x.dims.end());
  if (op.Bool("keepdim")) {
    out[axis] = 1;
  } else {
    out.erase(out.begin() + axis);
  }
  if (!out.empty()) op.SetOutput("Out", x.dtype, out);
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> VectorNormOps() {
  OpList ops;
  ops.Define("p_norm(X) -> (Out)")
      .Doc(
          "(sum |X|^porder)^(1/porder) along axis, or of all elements (asvector); the largest or "
          "smallest |X| of an infinite porder, the number of those that are not 0 of 0.")
      .Attr("porder", Float(2))
      .Attr("axis", Int(-1))
      .Attr("epsilon", Float(1e-12f))
      .Attr("keepdim", Bool(false))
      .Attr("asvector", Bool(false), Eras::kPaddle2)
      .Infer(InferNorm)
      .TakeLod({})
      .QuantizableOutputs({"Out"})
      .Gradient("p_norm_grad(X, Out, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
