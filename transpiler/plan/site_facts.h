// What the sites of a plan say of the runs of the program that is frozen from it.

#ifndef FIXPOINT_TRANSPILER_PLAN_SITE_FACTS_H_
#define FIXPOINT_TRANSPILER_PLAN_SITE_FACTS_H_

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "ops/codes/coded_product.h"
#include "ops/never_negative.h"
#include "ops/quantizer.h"
#include "transpiler/plan/forward_facts.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

class SiteFacts final : public ForwardFacts {
 public:
  // REQUIRES: the plan and `types` outlive the object, and the plan gets no more sites.
  SiteFacts(const Plan& plan, Era era, OpTypes* types);

  // The site whose quantized value an input reads; null if there is none.
  const Site* FindSite(const Argument* input) const;

  bool IsNeverNegative(const Value& value) const { return never_negative_.Holds(value); }
  // Whether what the quantizer of a site quantizes is never negative.
  bool QuantizesNoNegatives(const Site& site, const Quantizer& quantizer) const;
  // A bias is rounded to the steps of the sums that it is added to.
  BiasForm BiasFormOf(const Argument& /*addend*/) const override { return BiasForm::kCodesOfSums; }

 private:
  absl::flat_hash_map<const Argument*, const Site*> sites_;
  mutable NeverNegative never_negative_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_SITE_FACTS_H_
