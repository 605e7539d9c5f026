#include "transpiler/lower/rules/rule.h"

namespace fixpoint {

#define FIXPOINT_LOWERING_RULE(name) std::unique_ptr<LoweringRule> Make##name##Rule();
#include "transpiler/lower/rules/all_rules.inc"
#undef FIXPOINT_LOWERING_RULE

const std::vector<std::unique_ptr<LoweringRule>>& LoweringRules() {
  static const auto* const kRules = [] {
    auto* const rules = new std::vector<std::unique_ptr<LoweringRule>>();
#define FIXPOINT_LOWERING_RULE(name) rules->push_back(Make##name##Rule());
#include "transpiler/lower/rules/all_rules.inc"
#undef FIXPOINT_LOWERING_RULE
    return rules;
  }();
  return *kRules;
}

}  // namespace fixpoint
