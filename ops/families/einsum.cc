// Sums of products along named axes.

#include <vector>

#include "ops/einsum_equation.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status InferEinsum(InferContext& op) {
  const int count = op.InputCount("Operands");
  op.SetOutput("Out", op.Input("Operands").dtype, std::nullopt);
  std::vector<int> ranks;
  std::vector<Dims> dims;
  bool are_known = true;
  for (int i = 0; i < count; ++i) {
    const TensorInfo operand = op.Input("Operands", i);
    op.SetOutputLike("InnerCache", i, operand);
    op.SetOutput("XShape", i, operand.dtype, std::nullopt);
    are_known = are_known && operand.has_dims();
    ranks.push_back(operand.rank());
    dims.emplace_back(operand.dims.begin(), operand.dims.end());
    if (!operand.has_dims()) continue;
    Dims shape = {0};
    shape.insert(shape.end(), operand.dims.begin(), operand.dims.end());
    op.SetOutput("XShape", i, operand.dtype, shape);
  }
  if (!are_known) return absl::OkStatus();
  ASSIGN_OR_RETURN(const EinsumEquation equation, ParseEinsum(op.String("equation"), ranks));
  ASSIGN_OR_RETURN(const Dims sizes, EinsumSizes(equation, dims));
  Dims out;
  for (const int axis : equation.result) out.push_back(sizes[axis]);
  // A result without axes is a scalar, which dims do not tell from an unknown one.
  if (!out.empty()) op.SetOutput("Out", op.Input("Operands").dtype, out);
  return absl::OkStatus();
}

// InnerCache holds the operands.
absl::Status InferEinsumGradient(InferContext& op) {
  for (int i = 0; i < op.InputCount("InnerCache"); ++i) {
    op.SetOutputLike("Operands@GRAD", i, op.Input("InnerCache", i));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<OpSchema> EinsumOps() {
  OpList ops;
  ops.Define("einsum(Operands*) -> (Out, InnerCache*?, XShape*?)")
      .Doc(
          "Products of the operands' elements, summed over the axes that the right side of "
          "equation lacks: \"ij,jk->ik\" is a product of matrices. InnerCache is what the gradient "
          "reads: the operands.")
      .Attr("equation", Required(STRING))
      .Infer(InferEinsum)
      .TakeLod({})
      .Gradient("einsum_grad(InnerCache, x_shape=XShape, Out@GRAD) -> (Operands@GRAD)")
      .GradientInfer(InferEinsumGradient);
  return ops.Build();
}

}  // namespace fixpoint
