// Whether a target can compute what a plan says that a user wrote or changed. The planner asks the
// same of each op before it decides.

#ifndef FIXPOINT_TRANSPILER_PLAN_PLAN_ON_TARGET_H_
#define FIXPOINT_TRANSPILER_PLAN_PLAN_ON_TARGET_H_

#include "absl/status/status.h"
#include "ops/quantizer_table.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/target_check.h"

namespace fixpoint {

// Errors: kFailedPrecondition, with all complaints: a product whose sums the target's accumulator
// may not hold; an op whose inputs have scales of their own where the target wants one; what a
// check of the target keeps float or refuses. kInvalidArgument: a check that is not there.
// REQUIRES: the plan is that of the program, and ValidatePlan has passed it.
absl::Status CheckPlanOnTarget(const Plan& plan, const Program& program, const Target& target,
                               const QuantizerTable& quantizers, const CheckTable& checks);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_PLAN_ON_TARGET_H_
