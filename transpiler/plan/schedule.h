// When the parts of quantized training begin (proto/config/quant_config.proto).

#ifndef FIXPOINT_TRANSPILER_PLAN_SCHEDULE_H_
#define FIXPOINT_TRANSPILER_PLAN_SCHEDULE_H_

#include "absl/status/status.h"
#include "proto/config/quant_spec.pb.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/target.h"

namespace fixpoint {

// The op that reads a value from a step on, and another one before.
inline constexpr char kSelectFromStep[] = "select_from_step";

// The schedule of a plan; nothing if the program has no steps, because it is for inference.
Schedule ScheduleOf(const Plan& plan);

// Whether anything is scheduled.
bool IsScheduled(const Schedule& schedule);

// Errors: kInvalidArgument: an invalid step, or scales that are frozen before a step has found
// them; kFailedPrecondition: the target is limited to the reference's ops, which have no schedule.
absl::Status CheckSchedule(const Schedule& schedule, const Target& target);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_SCHEDULE_H_
