// A plan as a file: values, ops and slots named by where they stand in the program it was made for.

#ifndef FIXPOINT_TRANSPILER_PLAN_PLAN_FILE_H_
#define FIXPOINT_TRANSPILER_PLAN_PLAN_FILE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/program.h"
#include "proto/quant_plan.pb.h"
#include "proto/target.pb.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

// Messages say what is wrong where in the file, and leave the file's name to the caller.

// Ops are named by their position in the program as it is: as a plan is made for it, and before it
// is applied. Linear in the program.
QuantPlan PlanToProto(const Plan& plan);

// Error (kInvalidArgument): the plan speaks of an op, slot or value that the program does not have;
// it rewires a slot twice, or a gradient op otherwise than its forward op; sites that share a scale
// have more than one reader or more than one spec; a decision says otherwise than the sites; all
// complaints at once, up to 20.
absl::StatusOr<Plan> PlanFromProto(const QuantPlan& plan, const Program& program);

// Whether a plan that was read can be carried out for a target. Errors: kInvalidArgument: a spec
// that is not complete, or does not fit its value; kFailedPrecondition: the plan is of another
// target, or asks for what the target cannot do.
absl::Status CheckPlan(const Plan& plan, const Target& target, const QuantizerTable& quantizers);

// Gives the sites of a plan the ranges that a profile knows of their variables; what it says of
// the program's other variables is not used. Error (kInvalidArgument): a range that is not finite,
// or min > max; a variable that the program does not have, or that is there twice.
absl::Status MergeProfile(const RangeProfile& profile, const Program& program, Plan& plan);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_PLAN_FILE_H_
