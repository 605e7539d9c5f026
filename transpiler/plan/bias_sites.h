// Sites of biases that are added to sums of codes (integer_bias.h), which the planner plans once
// all other sites are there.

#ifndef FIXPOINT_TRANSPILER_PLAN_BIAS_SITES_H_
#define FIXPOINT_TRANSPILER_PLAN_BIAS_SITES_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "ops/gradient_links.h"
#include "ops/op_types.h"
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/eligibility.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/rules.h"
#include "transpiler/plan/site_table.h"
#include "transpiler/plan/slot_plan.h"

namespace fixpoint {

// What a planner knows of the program, and the plan that it makes.
struct BiasPlanning {
  const Program& program;
  const QuantizerTable& quantizers;
  Rules& rules;
  Eligibility& eligibility;
  OpTypes& types;
  const GradientLinks& links;
  SiteTable& sites;
  Plan& plan;
  // Why a check of the target keeps an op float whose inputs would be quantized like that.
  std::function<std::optional<std::string>(const Op& op, absl::Span<const SlotPlan> inputs)>
      why_kept_by_check;
};

// Adds a site for each bias that is added to sums of codes as an integer of so many bits, and says
// in the decisions why others are not.
void PlanBiases(int bits, const BiasPlanning& planning);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_BIAS_SITES_H_
