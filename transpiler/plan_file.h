// A plan as a file: values, ops and slots named by where they stand in the program it was made for.

#ifndef FIXPOINT_TRANSPILER_PLAN_FILE_H_
#define FIXPOINT_TRANSPILER_PLAN_FILE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program.h"
#include "proto/quant_plan.pb.h"
#include "transpiler/plan.h"

namespace fixpoint {

// Ops are named by their position among those that no pass inserted, so the answer is the same
// before and after the plan is applied. Linear in the program.
QuantPlan PlanToProto(const Plan& plan, const Program& program);

// Error (kInvalidArgument): the plan speaks of an op, slot or value that the program does not have;
// all complaints at once, up to 20.
absl::StatusOr<Plan> PlanFromProto(const QuantPlan& plan, const Program& program);

// Gives the sites of a plan the ranges that a profile knows of their variables; what it says of
// others is not used. Error (kInvalidArgument): a range that is not finite, or min > max.
absl::Status MergeProfile(const RangeProfile& profile, Plan& plan);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_FILE_H_
