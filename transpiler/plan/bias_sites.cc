#include "transpiler/plan/bias_sites.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "transpiler/plan/integer_bias.h"

namespace fixpoint {
namespace {

// Whether the program or a rule keeps the bias of an op float, whatever the target does; the
// decision then says so.
bool SkipsBias(const Argument& bias, bool is_own, const BiasPlanning& planning,
               Decision& decision) {
  const Op& op = bias.op();
  std::string scope;
  if (const std::optional<Reason> skipped = planning.eligibility.WhySkipped(op, scope)) {
    decision.reason = *skipped;
    decision.detail = std::move(scope);
    return true;
  }
  const Rules::SlotAction action =
      planning.rules.Resolve(planning.rules.Match(op), bias.slot_name());
  if (!action.skip) return false;
  const std::string slot(bias.slot_name());
  if (is_own) {
    absl::StrAppend(&decision.detail, decision.detail.empty() ? "" : ", ", slot, " stays float (",
                    action.rule, ")");
  } else {
    decision.reason = Reason::kSkippedByRule;
    decision.rule = action.rule;
    decision.detail = slot;
  }
  return true;
}

}  // namespace

void PlanBiases(int bits, const BiasPlanning& planning) {
  const QuantSpec spec = IntegerBiasSpec(bits);
  const IntegerBias biases(planning.plan, EraOf(planning.program), planning.quantizers,
                           &planning.types);
  std::vector<std::pair<Decision*, const Argument*>> added;
  for (Decision& decision : planning.plan.decisions) {
    const Op& op = *decision.op;
    const Argument* const bias = FindBias(op, &planning.eligibility);
    const bool is_own = bias != nullptr && ProductOfBias(*bias) == &op;
    // A rule that was followed takes precedence.
    const bool is_by_rule =
        decision.reason == Reason::kByRule || decision.reason == Reason::kSkippedByRule;
    if (bias == nullptr || decision.quantized != is_own || is_by_rule ||
        planning.sites.HasReader(*bias) || SkipsBias(*bias, is_own, planning, decision)) {
      continue;
    }
    std::optional<std::string> why = biases.WhyFloat(*bias);
    if (!why) why = planning.why_kept_by_check(op, {{bias, SlotRole::BIAS, spec, ""}});
    if (!why && planning.links.UncertainGradientOf(op) != nullptr) {
      why = absl::StrCat("a gradient op repeats the inputs of ", Describe(op),
                         ", and is not its own alone");
    }
    if (!why) {
      added.emplace_back(&decision, bias);
    } else if (is_own) {
      absl::StrAppend(&decision.detail, decision.detail.empty() ? "" : ", ",
                      "Bias stays float: ", *why);
    } else {
      decision.reason = Reason::kNoIntegerBias;
      decision.detail = *std::move(why);
    }
  }
  for (const auto& [decision, bias] : added) {
    Site site;
    site.value = bias->value();
    site.role = SlotRole::BIAS;
    site.spec = spec;
    planning.sites.AddReader(planning.sites.Add(std::move(site)), *bias);
    decision->detail = absl::StrCat(std::string(bias->slot_name()), " as a bias in int", bits);
    if (decision->quantized) continue;
    decision->quantized = true;
    decision->reason = Reason::kByTarget;
    if (decision->rule.empty()) continue;
    absl::StrAppend(&decision->detail, ", and not as ", decision->rule, " asks");
    decision->rule.clear();
  }
}

}  // namespace fixpoint
