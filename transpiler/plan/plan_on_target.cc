#include "transpiler/plan/plan_on_target.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/era.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/plan/accumulator.h"
#include "transpiler/plan/complaints.h"

namespace fixpoint {
namespace {

// What a plan quantizes of one op.
struct QuantizedInputs {
  std::vector<SlotPlan> slots;
  std::vector<SlotPlan> bias;
  absl::flat_hash_set<std::string> scales;  // that the slots share; "" for one of its own
};

absl::flat_hash_map<const Op*, QuantizedInputs> InputsOf(const Plan& plan) {
  absl::flat_hash_map<const Op*, QuantizedInputs> inputs;
  for (const Site& site : plan.sites) {
    if (site.observe) continue;
    for (const Argument* reader : site.readers) {
      QuantizedInputs& of_op = inputs[&reader->op()];
      const SlotPlan slot = {reader, site.role, site.spec, ""};
      if (site.role == SlotRole::BIAS) {
        of_op.bias.push_back(slot);
        continue;
      }
      of_op.slots.push_back(slot);
      of_op.scales.insert(site.shared_scale);
    }
  }
  return inputs;
}

// Whether each entry of the target that names the op's type gives its inputs one scale.
bool WantsOneScale(const Target& target, const Op& op) {
  bool wants_one = false;
  for (const Target::QuantizedOp& entry : target.ops()) {
    if (std::count(entry.types().begin(), entry.types().end(), op.type()) == 0) continue;
    if (!entry.shared_scale()) return false;
    wants_one = true;
  }
  return wants_one;
}

std::optional<std::string> WhyNotBy(const std::vector<const TargetCheck*>& checks,
                                    const Program& program, const Op& op,
                                    const std::vector<SlotPlan>& inputs) {
  if (inputs.empty()) return std::nullopt;
  for (const TargetCheck* check : checks) {
    const CheckVerdict verdict = check->Check(program, op, inputs);
    if (verdict.kind() == CheckVerdict::Kind::kQuantize) continue;
    return absl::StrCat(check->name(), ": ", verdict.why());
  }
  return std::nullopt;
}

}  // namespace

absl::Status CheckPlanOnTarget(const Plan& plan, const Program& program, const Target& target,
                               const QuantizerTable& quantizers, const CheckTable& checks) {
  ASSIGN_OR_RETURN(const std::vector<const TargetCheck*> named, checks.Of(target));
  const absl::flat_hash_map<const Op*, QuantizedInputs> inputs = InputsOf(plan);
  Complaints complaints;
  for (const Op& op : program.ops()) {
    const auto found = inputs.find(&op);
    if (found == inputs.end()) continue;
    const auto complain = [&](const auto&... parts) {
      complaints.Add(Describe(op), ": target ", target.name(), " ", parts...);
    };
    const QuantizedInputs& quantized = found->second;
    if (const auto why = WhyTooNarrow(target, quantizers, op, EraOf(program), quantized.slots)) {
      complain("has an accumulator that is too narrow: ", *why);
    }
    const bool have_one_scale = quantized.scales.size() == 1 && !quantized.scales.contains("");
    if (quantized.slots.size() > 1 && !have_one_scale && WantsOneScale(target, op)) {
      complain("wants one scale for its inputs; want one shared_scale in all their sites");
    }
    std::optional<std::string> why = WhyNotBy(named, program, op, quantized.slots);
    if (!why) why = WhyNotBy(named, program, op, quantized.bias);
    if (why) complain("does not compute it on integers: ", *why);
  }
  const absl::Status status = complaints.status();
  return status.ok() ? status : absl::FailedPreconditionError(status.message());
}

}  // namespace fixpoint
