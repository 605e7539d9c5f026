// Decides which values are computed again where they are read next, instead of being held in
// between: most of what a backward pass reads was computed long before.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_RECOMPUTING_H_
#define FIXPOINT_RUNTIME_EXECUTOR_RECOMPUTING_H_

#include <vector>

#include "runtime/executor/arena.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// Lets repeatable steps of the plan run again, if its arena is then smaller. All of that is
// expected to take at most `part` of the time of the steps without it; the values are the same.
// What is expected follows from the plan and the sizes of the machine's caches, not from how fast it
// is. REQUIRES: no buffer has a place in memory yet, except those in tensors (keeping.h).
void ComputeAgain(double part, const std::vector<InPlace>& in_place, Plan* plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_RECOMPUTING_H_
