// How an op reads two tensors of which one repeats along dimensions of the other.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_BROADCAST_READING_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_BROADCAST_READING_H_

#include <cstdint>

#include "ops/dims.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/elementwise.h"

namespace fixpoint::executor {

struct BroadcastReading {
  kernels::ElementwiseShape shape;  // as they lie in memory
  Layout x_layout = Layout::kRowMajor;
  Layout y_layout = Layout::kRowMajor;
};

// Where X is images that are best read channels last, it is, if Y can be read so too.
BroadcastReading ReadBroadcast(const Dims& x, Layout x_layout, const Dims& y, int64_t axis);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_BROADCAST_READING_H_
