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

// Norm has one element for each vector.
absl::Status InferNormalized(InferContext& op) {
  const TensorInfo x = op.Input("X");
  op.SetOutputLike("Out", x);
  op.SetOutput("Norm", x.dtype, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  Dims norm(x.dims.begin(), x.dims.end());
  norm[axis] = 1;
  op.SetOutput("Norm", x.dtype, norm);
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
  ops.Define("norm(X) -> (Norm@1, Norm?@2, Out)")
      .Doc("Out = X / Norm, with Norm = sqrt(epsilon + sum X^2) along axis.")
      .Attr("axis", Required(INT))
      .Attr("epsilon", Float(1e-10f))
      .Hints("is_test@2")
      .Infer(InferNormalized)
      .TakeLod({"Out"})
      .QuantizableOutputs({"Out"})
      .Gradient("norm_grad(X, Norm, Out@GRAD) -> (X@GRAD)");
  return ops.Build();
}

}  // namespace fixpoint
