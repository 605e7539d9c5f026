// Dimensions and axes in the order in which they lie in memory.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_IN_MEMORY_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_IN_MEMORY_H_

#include "ops/dims.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// REQUIRES, here and below: the tensor may be held in that layout.
inline Dims DimsInMemory(const Dims& dims, Layout layout) {
  if (layout == Layout::kRowMajor) return dims;
  return {dims[0], dims[2], dims[3], dims[1]};
}

inline int AxisInMemory(int axis, Layout layout) {
  constexpr int kChannelsLastAxes[] = {0, 3, 1, 2};
  return layout == Layout::kRowMajor ? axis : kChannelsLastAxes[axis];
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_IN_MEMORY_H_
