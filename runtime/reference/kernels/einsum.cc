// Sums of products along named axes.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/einsum_equation.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

struct Einsum {
  EinsumEquation equation;
  Dims sizes;
  Dims out;
  std::vector<std::vector<int64_t>> strides;  // of the result, and of each operand
};

absl::StatusOr<Einsum> EinsumOf(const OpRun& op, const std::vector<const Array*>& operands) {
  std::vector<int> ranks;
  std::vector<Dims> dims;
  for (const Array* operand : operands) {
    ranks.push_back(operand->rank());
    dims.push_back(operand->dims);
  }
  Einsum einsum;
  ASSIGN_OR_RETURN(einsum.equation, ParseEinsum(op.String("equation"), ranks));
  ASSIGN_OR_RETURN(einsum.sizes, EinsumSizes(einsum.equation, dims));
  RETURN_IF_ERROR(ElementCount(einsum.sizes).status());
  for (const int axis : einsum.equation.result) einsum.out.push_back(einsum.sizes[axis]);
  einsum.strides.push_back(EinsumStrides(einsum.equation, einsum.equation.result, einsum.out));
  for (size_t i = 0; i < dims.size(); ++i) {
    einsum.strides.push_back(EinsumStrides(einsum.equation, einsum.equation.operands[i], dims[i]));
  }
  return einsum;
}

absl::Status Run(OpRun& op) {
  const std::vector<const Array*> operands = op.Inputs("Operands");
  if (operands.empty()) return absl::InvalidArgumentError("Operands has no arguments; want some");
  ASSIGN_OR_RETURN(const Einsum einsum, EinsumOf(op, operands));
  Array out(operands[0]->dtype, einsum.out);
  ForEachEinsumProduct(einsum.sizes, einsum.strides, [&](const std::vector<int64_t>& places) {
    double product = 1;
    for (size_t i = 0; i < operands.size(); ++i) product *= (*operands[i])[places[i + 1]];
    out[places[0]] += product;
  });
  if (out.dims.empty()) out.dims = op.ScalarDims();
  op.SetOutput("Out", std::move(out));
  for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
    op.SetOutput("InnerCache", i, *operands[i]);
    Dims shape = {0};
    shape.insert(shape.end(), operands[i]->dims.begin(), operands[i]->dims.end());
    op.SetOutput("XShape", i, Array(operands[i]->dtype, shape));
  }
  return absl::OkStatus();
}

absl::Status Gradient(OpRun& op) {
  const std::vector<const Array*> operands = op.Inputs("InnerCache");
  ASSIGN_OR_RETURN(const Einsum einsum, EinsumOf(op, operands));
  const Array& dout = op.Input("Out@GRAD");
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", Volume(einsum.out)));
  for (size_t d = 0; d < operands.size(); ++d) {
    Array gradient(operands[d]->dtype, operands[d]->dims);
    ForEachEinsumProduct(einsum.sizes, einsum.strides, [&](const std::vector<int64_t>& places) {
      double product = dout[places[0]];
      for (size_t i = 0; i < operands.size(); ++i) {
        if (i != d) product *= (*operands[i])[places[i + 1]];
      }
      gradient[places[d + 1]] += product;
    });
    op.SetOutput("Operands@GRAD", static_cast<int>(d), std::move(gradient));
  }
  return absl::OkStatus();
}

}  // namespace

Kernels EinsumKernels() { return {{"einsum", Run}, {"einsum_grad", Gradient}}; }

}  // namespace fixpoint::reference
