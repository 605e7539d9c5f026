// The sum with a residual that is held as codes (ops/codes/added_codes.h). The floats that they
// stand for are not computed.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIDUAL_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIDUAL_H_

#include "absl/status/status.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Adds the step of that sum, and of the relu that alone reads it. `codes_in` is its input that is
// codes.
absl::Status PlanSumWithCodes(OpPlanner& op, const Argument& codes_in);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIDUAL_H_
