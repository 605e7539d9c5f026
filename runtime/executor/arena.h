// Places buffers in one piece of memory, so that buffers that are never alive together share it.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_ARENA_H_
#define FIXPOINT_RUNTIME_EXECUTOR_ARENA_H_

#include <vector>

#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// A buffer that may take the place of another buffer, whose last reader is the step that writes the
// first.
struct InPlace {
  Buffer written;
  Buffer read;
};

// Finds from the steps, the plan's or its constant ones, when each buffer in `place` is alive, and
// assigns it an offset; returns the total bytes. A fetch is alive to the end. Largest first, each
// at the lowest offset that is free all its life (greedy by size: Pisarchyk and Lee, "Efficient
// memory management for deep neural net inference", 2020). Pairs of `in_place` share an offset if
// the lives and sizes allow it.
int64_t PlaceBuffers(const std::vector<InPlace>& in_place, const std::vector<Step>& steps,
                     BufferInfo::Place place, Plan* plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_ARENA_H_
