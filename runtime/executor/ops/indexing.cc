// Ops that place elements by what other tensors hold.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/indices.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

// Rows with a single 1 among zeros; rows of zeros for a number outside the range, where that is
// allowed.
absl::Status PlanOneHot(OpPlanner& op, bool is_v2) {
  RETURN_IF_ERROR(op.CheckAbsent("depth_tensor"));
  Dims dims = op.InputDims("X");
  if (!is_v2 && (dims.empty() || dims.back() != 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(dims), "; want a last dimension of 1"));
  }
  if (!is_v2) dims.pop_back();
  const int64_t depth = op.attributes().Int("depth");
  if (depth < 1) {
    return absl::InvalidArgumentError(absl::StrCat("depth is ", depth, "; want 1 or more"));
  }
  dims.push_back(depth);
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.attributes().DataType("dtype"));
  const bool may_be_none = op.attributes().Bool("allow_out_of_range");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", op.InputType("X").dtype));
  const Buffer out = op.WriteAs("Out", {dtype, dims});
  return WithElementType(dtype, [&](auto element) {
    return WithIndexType(op, "X", [&](auto number) {
      using T = decltype(element);
      using Index = decltype(number);
      op.AddStep({{x}, {out}, [=](const StepContext& run) {
                    const absl::Span<T> rows = run.Of<T>(out);
                    std::fill(rows.begin(), rows.end(), T());
                    T* row = rows.data();
                    for (const Index place : run.Of<Index>(x)) {
                      const bool is_place = place >= 0 && place < depth;
                      if (!is_place && !may_be_none) {
                        return absl::InvalidArgumentError(
                            absl::StrCat("X has ", place, "; want 0 to ", depth - 1));
                      }
                      if (is_place) row[place] = T(1);
                      row += depth;
                    }
                    return absl::OkStatus();
                  }});
      return absl::OkStatus();
    });
  });
}

// A row of indices for each element that is not 0.
absl::Status PlanWhereIndex(OpPlanner& op) {
  const TensorType type = op.InputType("Condition");
  const auto rank = static_cast<int64_t>(type.dims.size());
  ASSIGN_OR_RETURN(const int64_t most, ElementCount({type.size(), rank}));
  static_cast<void>(most);
  ASSIGN_OR_RETURN(const Buffer condition, op.Read("Condition", type.dtype));
  const Buffer out = op.WriteAs("Out", {VarType::INT64, {type.size(), rank}});
  const RunShape shape = op.DecideShape("Out");
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{condition}, {out, shape.dims}, [=](const StepContext& run) {
                  const absl::Span<const T> values = run.Of<T>(condition);
                  const absl::Span<int64_t> indices = run.Of<int64_t>(out);
                  int64_t rows = 0;
                  for (size_t i = 0; i < values.size(); ++i) {
                    if (values[i] == T()) continue;
                    auto rest = static_cast<int64_t>(i);
                    for (int64_t axis = rank; axis-- > 0;) {
                      indices[rows * rank + axis] = rest % type.dims[axis];
                      rest /= type.dims[axis];
                    }
                    ++rows;
                  }
                  DecideRows(run, shape, {rows, rank}, indices);
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// Known from the shape, or when the run decides it.
absl::Status PlanIsEmpty(OpPlanner& op) {
  const ReadShape shape = ReadShape::OfAny(op, "X");
  const Buffer out = op.WriteAs("Out", {VarType::BOOL, {1}});
  op.AddStep({shape.buffers(), {out}, [=](const StepContext& run) {
                const Dims dims = shape.DimsIn(run);
                run.Of<bool>(out)[0] = std::find(dims.begin(), dims.end(), 0) != dims.end();
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans IndexingPlans() {
  return {{"where_index", PlanWhereIndex},
          {"one_hot", [](OpPlanner& op) { return PlanOneHot(op, /*is_v2=*/false); }},
          {"one_hot_v2", [](OpPlanner& op) { return PlanOneHot(op, /*is_v2=*/true); }},
          {"is_empty", PlanIsEmpty}};
}

}  // namespace fixpoint::executor
