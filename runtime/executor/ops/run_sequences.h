// Ops over sequences whose offsets a run decides.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SEQUENCES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SEQUENCES_H_

#include "absl/status/status.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {

// sequence_expand of rows of X, as often as the offsets of Y say. Error (kUnimplemented): Y has no
// such level, or X has offsets.
absl::Status PlanExpandInRun(OpPlanner& op, const ReadShape& x_shape, const ReadShape& y_shape);

// lod_reset with the offsets of Y. REQUIRES: Y has some.
absl::Status PlanResetInRun(OpPlanner& op, const ReadShape& x_shape, const ReadShape& y_shape);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_SEQUENCES_H_
