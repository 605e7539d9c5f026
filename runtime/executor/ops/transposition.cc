// Ops that give the elements of a tensor another order.

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/in_memory.h"
#include "runtime/kernels/strided_copy.h"

namespace fixpoint::executor {
namespace {

// The attribute `axis`. Error: it is no permutation of that many axes.
absl::StatusOr<Dims> PermutationOf(const OpPlanner& op, size_t rank) {
  const std::vector<int64_t> axes = op.attributes().Ints("axis");
  Dims sorted(axes.begin(), axes.end());
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = sorted.size() == rank;
  for (size_t i = 0; is_permutation && i < rank; ++i) {
    is_permutation = sorted[i] == static_cast<int64_t>(i);
  }
  if (is_permutation) return Dims(axes.begin(), axes.end());
  return absl::InvalidArgumentError(absl::StrCat("axis is [", absl::StrJoin(axes, ", "),
                                                 "]; want a permutation of the ", rank, " axes"));
}

// Adds the step that makes dimension i of `output` of dimension permutation[i] of `input`. Images
// that lie channels last are read as they lie.
absl::Status AddTranspose(OpPlanner& op, absl::string_view input, absl::string_view output,
                          const Dims& permutation) {
  const TensorType type = op.InputType(input);
  const Layout layout = op.InputLayout(input);
  ASSIGN_OR_RETURN(const Buffer from, op.Read(input, type.dtype, layout));
  TensorType out_type{type.dtype, {}};
  Dims axes_in_memory;
  for (const int64_t axis : permutation) {
    out_type.dims.push_back(type.dims[axis]);
    axes_in_memory.push_back(AxisInMemory(static_cast<int>(axis), layout));
  }
  ASSIGN_OR_RETURN(
      const std::shared_ptr<kernels::StridedCopy> copy,
      kernels::StridedCopy::Plan(
          out_type.dims, kernels::TransposedLayout(DimsInMemory(type.dims, layout), axes_in_memory),
          kernels::RowMajorLayout(out_type.dims)));
  const Buffer to = op.WriteAs(output, out_type);
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{from}, {to}, [=](const StepContext& run) {
                  copy->Run<T>(run.Of<T>(from), run.Of<T>(to));
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanTranspose(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Dims permutation, PermutationOf(op, op.InputDims("X").size()));
  return AddTranspose(op, "X", "Out", permutation);
}

// XShape has no elements: its dimensions are what the gradient op reads.
absl::Status PlanTransposeWithShape(OpPlanner& op) {
  if (op.Wants("XShape")) RETURN_IF_ERROR(op.Write("XShape").status());
  return PlanTranspose(op);
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Dims permutation, PermutationOf(op, op.InputDims("Out@GRAD").size()));
  Dims inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = i;
  return AddTranspose(op, "Out@GRAD", "X@GRAD", inverse);
}

}  // namespace

OpPlans TranspositionPlans() {
  return {{"transpose", PlanTranspose},
          {"transpose_grad", PlanGradient},
          {"transpose2", PlanTransposeWithShape},
          {"transpose2_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
