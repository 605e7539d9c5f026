// Ops that pick or place parts of a tensor by indices that another holds.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/indices.h"
#include "runtime/executor/ops/lines_of.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

using kernels::Lines;

// Parts of a tensor at rows of indices of its first axes.
struct Parts {
  Dims axes;         // their sizes
  Dims dims;         // of all parts together
  int64_t size = 1;  // elements of a part
  int64_t count = 1;
};

absl::StatusOr<Parts> PartsOf(const OpPlanner& op, const Dims& x) {
  const Dims& index = op.InputDims("Index");
  const auto rank = static_cast<int64_t>(x.size());
  if (index.empty() || index.back() < 1 || index.back() > rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Index is ", DimsText(index), " and X is ", DimsText(x),
                     "; want a last dimension of Index of 1 to ", rank, ", the axes of X"));
  }
  Parts parts;
  parts.axes.assign(x.begin(), x.begin() + index.back());
  parts.dims.assign(index.begin(), index.end() - 1);
  for (const int64_t dim : parts.dims) parts.count *= dim;
  for (int64_t i = index.back(); i < rank; ++i) {
    parts.size *= x[i];
    parts.dims.push_back(x[i]);
  }
  if (parts.dims.empty()) parts.dims = {1};  // a scalar
  return parts;
}

// Calls f(part, place) with the number of each part and where it begins.
template <typename Index, typename F>
absl::Status ForEachPart(const Parts& parts, absl::Span<const Index> index, F f) {
  const Index* entry = index.data();
  for (int64_t part = 0; part < parts.count; ++part) {
    int64_t place = 0;
    for (const int64_t size : parts.axes) {
      RETURN_IF_ERROR(CheckIndex("Index", *entry, size));
      place = place * size + *entry++;
    }
    f(part, place * parts.size);
  }
  return absl::OkStatus();
}

absl::Status PlanGatherNd(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Parts parts, PartsOf(op, type.dims));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  const Buffer out = op.WriteAs("Out", {type.dtype, parts.dims});
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    return WithIndexType(op, "Index", [&](auto number) {
      using T = decltype(element);
      using Index = decltype(number);
      op.AddStep({{x, index}, {out}, [=](const StepContext& run) {
                    const T* const from = run.Of<T>(x).data();
                    T* const to = run.Of<T>(out).data();
                    return ForEachPart<Index>(
                        parts, run.Of<Index>(index), [&](int64_t part, int64_t place) {
                          std::copy_n(from + place, parts.size, to + part * parts.size);
                        });
                  }});
      return absl::OkStatus();
    });
  });
}

// Adds the step that gives `to` its beginning, from `before` or 0, plus the parts in `updates`.
absl::Status AddSumOfParts(OpPlanner& op, const Parts& parts, const Buffer* before, Buffer updates,
                           Buffer to) {
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  std::vector<Buffer> reads = {updates, index};
  const bool has_before = before != nullptr;
  const Buffer begin = has_before ? *before : Buffer();
  if (has_before) reads.push_back(begin);
  return WithIndexType(op, "Index", [&](auto number) {
    using Index = decltype(number);
    op.AddStep({std::move(reads), {to}, [=](const StepContext& run) {
                  const absl::Span<float> sums = run.Floats(to);
                  if (has_before) {
                    const absl::Span<float> x = run.Floats(begin);
                    std::copy(x.begin(), x.end(), sums.begin());
                  } else {
                    std::fill(sums.begin(), sums.end(), 0.0f);
                  }
                  const float* const added = run.Floats(updates).data();
                  return ForEachPart<Index>(
                      parts, run.Of<Index>(index), [&](int64_t part, int64_t place) {
                        AddRow(added + part * parts.size, parts.size, sums.data() + place);
                      });
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanGatherNdGradient(OpPlanner& op) {
  if (!op.Wants("X@GRAD")) return absl::OkStatus();
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Parts parts, PartsOf(op, type.dims));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", parts.count * parts.size));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", type);
  return AddSumOfParts(op, parts, nullptr, dout, dx);
}

absl::Status PlanScatterNdAdd(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Parts parts, PartsOf(op, type.dims));
  RETURN_IF_ERROR(op.CheckSize("Updates", parts.count * parts.size));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer updates, op.ReadFloats("Updates"));
  const Buffer out = op.WriteAs("Out", type);
  return AddSumOfParts(op, parts, &x, updates, out);
}

absl::Status PlanScatterNdAddGradient(OpPlanner& op) {
  const TensorType type = op.InputType("Out@GRAD");
  ASSIGN_OR_RETURN(const Parts parts, PartsOf(op, type.dims));
  RETURN_IF_ERROR(op.CheckSize("Updates", parts.count * parts.size));
  if (op.Wants("X@GRAD")) {
    RETURN_IF_ERROR(op.builder().Share(op.OutputValue("X@GRAD"), op.InputValue("Out@GRAD")));
  }
  if (!op.Wants("Updates@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  ASSIGN_OR_RETURN(const Buffer index, ReadIndices(op, "Index"));
  const Buffer dupdates = op.WriteAs("Updates@GRAD", op.InputType("Updates"));
  return WithIndexType(op, "Index", [&](auto number) {
    using Index = decltype(number);
    op.AddStep({{dout, index}, {dupdates}, [=](const StepContext& run) {
                  const float* const from = run.Floats(dout).data();
                  float* const to = run.Floats(dupdates).data();
                  return ForEachPart<Index>(
                      parts, run.Of<Index>(index), [&](int64_t part, int64_t place) {
                        std::copy_n(from + place, parts.size, to + part * parts.size);
                      });
                }});
    return absl::OkStatus();
  });
}

// Rows of a tensor, whose numbers are the elements of Ids [n] or [n, 1].
struct Rows {
  int64_t count;  // of the tensor
  int64_t size;   // of each
};

absl::StatusOr<Rows> RowsOf(const OpPlanner& op, const TensorType& type) {
  const Dims& ids = op.InputDims("Ids");
  if (ids.size() != 1 && !(ids.size() == 2 && ids[1] == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Ids is ", DimsText(ids), "; want [n] or [n, 1]"));
  }
  ASSIGN_OR_RETURN(const Lines lines, LinesOf(type.dims, 0));
  RETURN_IF_ERROR(op.CheckSize("Updates", ids[0] * lines.inner));
  return Rows{lines.length, lines.inner};
}

// A row that is named twice is the last of its updates or, without overwrite, their sum; X's own
// row is not a part of it.
absl::Status PlanScatter(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Rows rows, RowsOf(op, type));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer updates, op.ReadFloats("Updates"));
  ASSIGN_OR_RETURN(const Buffer ids, ReadIndices(op, "Ids"));
  // A run may decide how many there are.
  const ReadShape ids_shape = ReadShape::Of(op, "Ids");
  const ReadShape updates_shape = ReadShape::Of(op, "Updates");
  std::vector<Buffer> reads = {x, updates, ids};
  for (const ReadShape* shape : {&ids_shape, &updates_shape}) {
    const std::vector<Buffer> decided = shape->buffers();
    reads.insert(reads.end(), decided.begin(), decided.end());
  }
  const Buffer out = op.WriteAs("Out", type);
  const bool overwrites = op.attributes().Bool("overwrite");
  return WithIndexType(op, "Ids", [&](auto number) {
    using Index = decltype(number);
    op.AddStep({reads, {out}, [=](const StepContext& run) -> absl::Status {
                  const int64_t count = ids_shape.DimsIn(run)[0];
                  const int64_t updated = updates_shape.DimsIn(run)[0];
                  if (updated < count) {
                    return absl::InvalidArgumentError(absl::StrCat(
                        "Updates has ", updated, " rows; want ", count, ", as Ids has"));
                  }
                  const absl::Span<Index> places = run.Of<Index>(ids).first(count);
                  const absl::Span<float> before = run.Floats(x);
                  float* const to = run.Floats(out).data();
                  std::copy(before.begin(), before.end(), to);
                  for (const Index place : places) {
                    RETURN_IF_ERROR(CheckIndex("Ids", place, rows.count));
                    std::fill_n(to + place * rows.size, rows.size, 0.0f);
                  }
                  const float* from = run.Floats(updates).data();
                  for (const Index place : places) {
                    if (overwrites) {
                      std::copy_n(from, rows.size, to + place * rows.size);
                    } else {
                      AddRow(from, rows.size, to + place * rows.size);
                    }
                    from += rows.size;
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanScatterGradient(OpPlanner& op) {
  const TensorType type = op.InputType("Out@GRAD");
  ASSIGN_OR_RETURN(const Rows rows, RowsOf(op, type));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  ASSIGN_OR_RETURN(const Buffer ids, ReadIndices(op, "Ids"));
  const Buffer dx = op.WriteAs("X@GRAD", type);
  const Buffer dupdates = op.WriteAs("Updates@GRAD", op.InputType("Updates"));
  return WithIndexType(op, "Ids", [&](auto number) {
    using Index = decltype(number);
    op.AddStep({{dout, ids}, {dx, dupdates}, [=](const StepContext& run) -> absl::Status {
                  const absl::Span<float> from = run.Floats(dout);
                  float* const whole = run.Floats(dx).data();
                  float* taken = run.Floats(dupdates).data();
                  std::copy(from.begin(), from.end(), whole);
                  for (const Index place : run.Of<Index>(ids)) {
                    RETURN_IF_ERROR(CheckIndex("Ids", place, rows.count));
                    taken = std::copy_n(from.data() + place * rows.size, rows.size, taken);
                    std::fill_n(whole + place * rows.size, rows.size, 0.0f);
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

}  // namespace

OpPlans PartsAtIndicesPlans() {
  return {{"gather_nd", PlanGatherNd, AlwaysRoundsOnce},
          {"gather_nd_grad", PlanGatherNdGradient},
          {"scatter_nd_add", PlanScatterNdAdd},
          {"scatter_nd_add_grad", PlanScatterNdAddGradient},
          {"scatter", PlanScatter},
          {"scatter_grad", PlanScatterGradient}};
}

}  // namespace fixpoint::executor
