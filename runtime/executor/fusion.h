// Makes one step of several that loop over as many elements and share values: a block of elements
// passes through all their loops while it is in the cache, and a value that only they read is never
// in memory. Steps say what they do to each element (ElementLoop, plan.h); nothing here knows ops.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_FUSION_H_
#define FIXPOINT_RUNTIME_EXECUTOR_FUSION_H_

#include <vector>

#include "runtime/executor/arena.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// Fuses steps of the plan, and its constant ones among themselves. A step moves to those that it is
// fused with where no step between them has to come first or last, and where it does not pass a
// step that touches more memory than a small part of a value. `in_place` follows: the buffers of a
// fused step share memory where its loops allow it. REQUIRES: no buffer has a place in memory yet,
// except those in tensors (keeping.h).
void FuseSteps(std::vector<InPlace>* in_place, Plan* plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_FUSION_H_
