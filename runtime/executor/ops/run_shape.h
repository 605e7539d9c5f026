// How a step writes what it decides of a value's shape.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SHAPE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/lod.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// Writes the extents of a value, and zeros after its elements. REQUIRES: its buffer has as many.
template <typename T>
void DecideRows(const StepContext& run, const RunShape& shape, DimsView dims,
                absl::Span<T> elements) {
  std::copy(dims.begin(), dims.end(), run.Of<int64_t>(shape.dims).begin());
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::fill(elements.begin() + count, elements.end(), T());
}

// The same with the elements.
template <typename T, typename From>
void WriteRows(const StepContext& run, const RunShape& shape, DimsView dims,
               const std::vector<From>& from, Buffer to) {
  const absl::Span<T> elements = run.Of<T>(to);
  std::transform(from.begin(), from.end(), elements.begin(),
                 [](From value) { return static_cast<T>(value); });
  DecideRows(run, shape, dims, elements);
}

// The offsets of a level. REQUIRES: the shape has it, and room for so many.
template <typename Offsets>
void DecideOffsets(const StepContext& run, const RunShape& shape, const Offsets& offsets,
                   size_t level = 0) {
  const absl::Span<int64_t> decided = run.Of<int64_t>(shape.offsets[level]);
  decided[0] = static_cast<int64_t>(offsets.size());
  std::copy(offsets.begin(), offsets.end(), decided.begin() + 1);
}

// The offsets of all levels, of which a run may have fewer. REQUIRES: as above.
void DecideLod(const StepContext& run, const RunShape& shape, const LoD& lod);

// The offsets of a level that a run decided; none: there is no such level.
inline absl::Span<const int64_t> OffsetsIn(const StepContext& run, const RunShape& shape,
                                           size_t level) {
  const absl::Span<const int64_t> decided = run.Of<int64_t>(shape.offsets[level]);
  return decided.subspan(1, decided[0]);
}

// The shape of an input that a run may have decided.
struct ReadShape {
  Dims most;
  LoD lod;  // known before the run
  std::optional<RunShape> decided;

  // Takes what a run decides of the input: its rows, or any extents (OpPlanner::TakeRunShape).
  static ReadShape Of(OpPlanner& op, absl::string_view slot);
  static ReadShape OfAny(OpPlanner& op, absl::string_view slot);

  std::vector<Buffer> buffers() const {
    return decided ? decided->buffers() : std::vector<Buffer>();
  }
  // The most offsets of each level.
  std::vector<int64_t> most_offsets() const;
  Dims DimsIn(const StepContext& run) const;
  LoD LodIn(const StepContext& run) const;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SHAPE_H_
