// Decides what is quantized and how: program, configuration and target in, plan out. Changes
// nothing. Linear in the program.

#ifndef FIXPOINT_TRANSPILER_PLAN_PLANNER_H_
#define FIXPOINT_TRANSPILER_PLAN_PLANNER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_config.pb.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/target_check.h"

namespace fixpoint {

// Errors (kInvalidArgument): a rule that matches nothing; fc_weights whose quantizer rules replace
// in each layer; a spec that its quantizer cannot do; a check of the target that is not there;
// (kFailedPrecondition): a spec that the target cannot do; an op that a check of it refuses. All
// complaints at once; those about the configuration alone are InputErrors with its name.
absl::StatusOr<Plan> MakePlan(const Program& program, const QuantConfig& config,
                              const Target& target, const QuantizerTable& quantizers,
                              absl::string_view config_name,
                              const CheckTable& checks = CheckTable());

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_PLANNER_H_
