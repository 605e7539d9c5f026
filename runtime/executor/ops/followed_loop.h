// Loops that are followed before the run: what their runs do with numbers that are known then, such
// as counters.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_FOLLOWED_LOOP_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_FOLLOWED_LOOP_H_

#include <vector>

#include "proto/program/program_fwd.h"
#include "runtime/executor/ops/array_contents.h"
#include "runtime/executor/ops/planned_block.h"
#include "runtime/executor/plan_builder.h"

namespace fixpoint::executor {

// What is known of the arrays that a loop leaves in the variables that it writes, one for each of
// `block.crossing.written`; of none if it does not end as far as it is followed. `condition` is
// what it reads before the first run. REQUIRES: the block's ops are planned, and its plan is not
// finished.
std::vector<ArrayContents> ContentsAfterLoop(const PlanBuilder& around,
                                             const BlockInPlanning& block, const Value& condition);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_FOLLOWED_LOOP_H_
