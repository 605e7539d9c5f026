// A tensor seen along an axis that an attribute names.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_LINES_OF_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_LINES_OF_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::executor {

// A tensor without elements may have 2^40 rows of none, which nothing may go over: it has no lines
// then. Error: those of NormalizeAxis.
inline absl::StatusOr<kernels::Lines> LinesOf(const Dims& dims, int64_t axis) {
  const absl::StatusOr<int> at = NormalizeAxis(axis, static_cast<int>(dims.size()));
  if (!at.ok()) return at.status();
  kernels::Lines lines;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    (i < *at ? lines.outer : i == *at ? lines.length : lines.inner) *= dims[i];
  }
  if (lines.inner == 0) lines.outer = 0;
  return lines;
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_LINES_OF_H_
