// Ops that pick elements by what other tensors hold, or place them so.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/kernels/comparison.h"
#include "runtime/kernels/take.h"

namespace fixpoint::executor {
namespace {

// Calls f with a value of the type of an input of indices.
template <typename F>
absl::Status WithIndexType(const OpPlanner& op, absl::string_view slot, F f) {
  const VarType::Type dtype = op.InputType(slot).dtype;
  if (dtype == VarType::INT64) return f(int64_t());
  if (dtype == VarType::INT32) return f(int32_t());
  return absl::UnimplementedError(
      absl::StrCat("input ", slot, " is ", TypeName(dtype), "; want i32 or i64"));
}

// How many entries of X a gather may take, and how many places Index has: what a run decides of
// both.
struct GatherExtents {
  std::optional<RunShape> x;
  std::optional<RunShape> index;
};

// Error (kUnimplemented): sequences whose offsets would depend on the numbers of rows.
absl::StatusOr<GatherExtents> ExtentsOfGather(OpPlanner& op, int axis) {
  GatherExtents extents;
  if (const RunShape* x = op.TakeRunShape("X"); x != nullptr) extents.x = *x;
  if (const RunShape* index = op.TakeRunShape("Index"); index != nullptr) extents.index = *index;
  const bool has_sequences =
      (extents.x && (extents.x->has_offsets() || !op.InputLod("Index").empty())) ||
      (extents.index && !op.InputLod("X").empty());
  if ((extents.x || extents.index) && (axis != 0 || has_sequences)) {
    return absl::UnimplementedError(
        "a run decides the extents of X or Index, and axis is not 0 or X has sequences; want rows "
        "that belong to none");
  }
  return extents;
}

// X's entries at Index [n] or [n, 1] along an axis.
absl::Status PlanGather(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("Axis"));
  const TensorType type = op.InputType("X");
  const Dims& index_dims = op.InputDims("Index");
  if (index_dims.size() != 1 && !(index_dims.size() == 2 && index_dims[1] == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Index is ", DimsText(index_dims), "; want [n] or [n, 1]"));
  }
  const int64_t axis = op.attributes().Int("axis");
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, static_cast<int>(type.dims.size())));
  ASSIGN_OR_RETURN(const kernels::Lines lines, LinesOf(type.dims, axis));
  Dims dims = type.dims;
  dims[at] = index_dims[0];
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  ASSIGN_OR_RETURN(const Buffer index, op.Read("Index", op.InputType("Index").dtype));
  ASSIGN_OR_RETURN(const GatherExtents extents, ExtentsOfGather(op, at));
  const Buffer out = op.WriteAs("Out", {type.dtype, dims});
  std::vector<Buffer> reads = {x, index};
  if (extents.x) reads.push_back(extents.x->dims);
  if (extents.index) {
    reads.push_back(extents.index->dims);
    op.KeepRows("Index", "Out");
  }
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    return WithIndexType(op, "Index", [&](auto number) {
      using T = decltype(element);
      using Index = decltype(number);
      op.AddStep({reads, {out}, [=](const StepContext& run) {
                    kernels::Lines there = lines;
                    if (extents.x) there.length = run.Of<int64_t>(extents.x->dims)[0];
                    const absl::Span<T> taken = run.Of<T>(out);
                    const int64_t places = run.CountOf(extents.index, index.size);
                    std::fill(taken.begin() + places * lines.inner * lines.outer, taken.end(), T());
                    return kernels::Take<T, Index>(there, run.Of<T>(x),
                                                   run.Of<Index>(index).first(places), taken);
                  }});
      return absl::OkStatus();
    });
  });
}

absl::Status PlanWhere(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  if (op.InputDims("Condition") != type.dims || op.InputType("Y") != type) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Condition is ", DimsText(op.InputDims("Condition")), ", X ", DimsText(type.dims),
        " and Y ", DimsText(op.InputDims("Y")), "; want equal dimensions and types"));
  }
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer condition, op.Read("Condition", VarType::BOOL, layout));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype, layout));
  ASSIGN_OR_RETURN(const Buffer y, op.Read("Y", type.dtype, layout));
  const Buffer out = op.WriteOver("Out", type, layout, x);
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    using T = decltype(element);
    AddElementStep(op, {condition, x, y}, out, [](const kernels::ElementBlock& block) {
      kernels::Select(block.In<bool>(0), block.In<T>(1), block.In<T>(2), block.Out<T>());
    });
    return absl::OkStatus();
  });
}

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

// Known from the shape.
absl::Status PlanIsEmpty(OpPlanner& op) {
  const bool is_empty = op.InputType("X").size() == 0;
  const Buffer out = op.WriteAs("Out", {VarType::BOOL, {1}});
  op.AddStep({{}, {out}, [=](const StepContext& run) {
                run.Of<bool>(out)[0] = is_empty;
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans IndexingPlans() {
  return {{"gather", PlanGather, AlwaysRoundsOnce},
          {"where", PlanWhere, AlwaysRoundsOnce},
          {"where_index", PlanWhereIndex},
          {"one_hot", [](OpPlanner& op) { return PlanOneHot(op, /*is_v2=*/false); }},
          {"one_hot_v2", [](OpPlanner& op) { return PlanOneHot(op, /*is_v2=*/true); }},
          {"is_empty", PlanIsEmpty}};
}

}  // namespace fixpoint::executor
