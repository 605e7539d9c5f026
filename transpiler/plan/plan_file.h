// A plan as a file: values, ops and slots are named by their place in the program that it was made
// for.

#ifndef FIXPOINT_TRANSPILER_PLAN_PLAN_FILE_H_
#define FIXPOINT_TRANSPILER_PLAN_PLAN_FILE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

// Messages say what is wrong and where in the file; the caller adds the file's name.

// Ops are named by their position in the program at the time when the plan is made, before it is
// applied. Linear in the program.
QuantPlan PlanToProto(const Plan& plan);

// Errors: kInvalidArgument: the plan refers to an op, slot or value that the program does not have;
// all complaints at once, up to 20; those of ValidatePlan.
absl::StatusOr<Plan> PlanFromProto(const QuantPlan& plan, const Program& program,
                                   const Target& target, const QuantizerTable& quantizers);

// Gives the sites of a plan the ranges that a profile has for their variables, each chosen by the
// rule of the site's spec (runtime/statistics/range_profile.h); entries for other variables of the
// program are ignored. A plan that ValidatePlan passes stays one, because the ranges are held to
// what it holds them to. Error (kInvalidArgument): a range that is not finite, or min > max; a
// variable that the program does not have, or that is there twice; those of ChooseRange.
absl::Status MergeProfile(const RangeProfile& profile, const Program& program, Plan& plan);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_PLAN_FILE_H_
