#include "transpiler/plan/site_facts.h"

#include "proto/program/op.h"
#include "transpiler/plan/formula_facts.h"

namespace fixpoint {

SiteFacts::SiteFacts(const Plan& plan, Era era, OpTypes* types)
    : ForwardFacts(era, types), never_negative_(era) {
  for (const Site& site : plan.sites) {
    if (site.observe) continue;
    for (const Argument* reader : site.readers) sites_.emplace(reader, &site);
  }
}

const Site* SiteFacts::FindSite(const Argument* input) const {
  const auto site = sites_.find(input);
  return site != sites_.end() ? site->second : nullptr;
}

bool SiteFacts::QuantizesNoNegatives(const Site& site, const Quantizer& quantizer) const {
  return fixpoint::QuantizesNoNegatives(quantizer, site.spec, site.role, era(),
                                        IsNeverNegative(*site.value));
}

}  // namespace fixpoint
