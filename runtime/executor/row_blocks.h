// Makes one step of several that compute rows from rows, where what they hand on exceeds the cache:
// a block of rows passes through all of them, and what lies between is memory of one block. So the
// scores of attention are never there as a whole, if a block holds those of two heads or more.
// Steps say what their rows are (step_rows.h) or are loops; nothing here knows ops.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_ROW_BLOCKS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_ROW_BLOCKS_H_

#include <vector>

#include "runtime/executor/arena.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// Changes the plan's steps, but not its constant ones. `in_place` follows. REQUIRES: as FuseSteps
// (fusion.h), which runs before.
void RunInRowBlocks(std::vector<InPlace>* in_place, Plan* plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_ROW_BLOCKS_H_
