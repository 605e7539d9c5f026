#include "transpiler/plan/schedule.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

absl::Status CheckStep(const char* field, bool is_there, int64_t step, int64_t first) {
  if (!is_there || step >= first) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("schedule.", field, " is ", step, "; want ", first, " or more"));
}

}  // namespace

Schedule ScheduleOf(const Plan& plan) { return plan.is_inference ? Schedule() : plan.schedule; }

bool IsScheduled(const Schedule& schedule) {
  return schedule.has_quantize_from_step() || schedule.has_freeze_scales_from_step() ||
         schedule.has_freeze_batch_norm_from_step();
}

absl::Status CheckSchedule(const Schedule& schedule, const Target& target) {
  RETURN_IF_ERROR(CheckStep("quantize_from_step", schedule.has_quantize_from_step(),
                            schedule.quantize_from_step(), 1));
  RETURN_IF_ERROR(CheckStep("freeze_scales_from_step", schedule.has_freeze_scales_from_step(),
                            schedule.freeze_scales_from_step(), 2));
  RETURN_IF_ERROR(CheckStep("freeze_batch_norm_from_step",
                            schedule.has_freeze_batch_norm_from_step(),
                            schedule.freeze_batch_norm_from_step(), 2));
  if (schedule.freeze_scales_from_step() > 0 &&
      schedule.freeze_scales_from_step() <= schedule.quantize_from_step()) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule.freeze_scales_from_step is ", schedule.freeze_scales_from_step(),
                     " and quantize_from_step ", schedule.quantize_from_step(),
                     "; want scales frozen after a step has used them"));
  }
  if (IsScheduled(schedule) && (target.weight_abilities().reference_ops_only() ||
                                target.activation_abilities().reference_ops_only())) {
    return absl::FailedPreconditionError(
        absl::StrCat("target ", target.name(), ": the reference's ops know no schedule"));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
