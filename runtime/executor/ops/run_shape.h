// How a step writes what it decides of a value's shape.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SHAPE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/types/span.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// Writes the extents of a value, and zeros after its elements. REQUIRES: its buffer has as many.
template <typename T>
void DecideRows(const StepContext& run, const RunShape& shape, std::initializer_list<int64_t> dims,
                absl::Span<T> elements) {
  std::copy(dims.begin(), dims.end(), run.Of<int64_t>(shape.dims).begin());
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::fill(elements.begin() + count, elements.end(), T());
}

// The same with the elements.
template <typename T, typename From>
void WriteRows(const StepContext& run, const RunShape& shape, std::initializer_list<int64_t> dims,
               const std::vector<From>& from, Buffer to) {
  const absl::Span<T> elements = run.Of<T>(to);
  std::transform(from.begin(), from.end(), elements.begin(),
                 [](From value) { return static_cast<T>(value); });
  DecideRows(run, shape, dims, elements);
}

// REQUIRES: the shape has offsets, and room for so many.
inline void DecideOffsets(const StepContext& run, const RunShape& shape,
                          const std::vector<int64_t>& offsets) {
  const absl::Span<int64_t> decided = run.Of<int64_t>(shape.offsets);
  decided[0] = static_cast<int64_t>(offsets.size());
  std::copy(offsets.begin(), offsets.end(), decided.begin() + 1);
}

// The buffers of a shape that a step reads or writes beside the elements.
inline std::vector<Buffer> BuffersOf(const RunShape& shape) {
  std::vector<Buffer> buffers = {shape.dims};
  if (shape.has_offsets()) buffers.push_back(shape.offsets);
  return buffers;
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SHAPE_H_
