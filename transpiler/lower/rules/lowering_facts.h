// What is known of the runs of a program that is on its way to integers: what it declares, its
// parameters, and the codes that were found so far.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_FACTS_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_FACTS_H_

#include <optional>

#include "ops/codes/declared_facts.h"
#include "ops/codes/folded_ops.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

class LoweringFacts final : public DeclaredFacts {
 public:
  // `product` is the product of codes that is asked about, if one is. REQUIRES: both outlive the
  // object.
  explicit LoweringFacts(Lowering& lowering, const Op* product = nullptr)
      : DeclaredFacts(lowering.era()), lowering_(lowering), product_(product) {}

  HeldForm HeldFormOf(const Argument& input) const override;
  BiasForm BiasFormOf(const Argument& addend) const override;
  // An operand of channels is a parameter. One that is in no scope may be read: whoever reads it
  // gets the error.
  std::optional<IntegerReason> WhyNotRead(const Argument& operand) const override;
  // A lowered product gives one output.
  std::optional<IntegerReason> WhyNotFolded(const Op& op, const Argument& output) const override;

 private:
  Lowering& lowering_;
  const Op* const product_;
};

// What a product of codes gives, as the program declares what `reader` reads.
ProductResult ResultOf(const Op& product, const Argument& reader, Lowering& lowering);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_FACTS_H_
