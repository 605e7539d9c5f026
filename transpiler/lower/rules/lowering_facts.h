// What is known of the runs of a program that is on its way to integers: what it declares, its
// parameters, and the codes that were found so far.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_FACTS_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_FACTS_H_

#include <optional>

#include "ops/codes/declared_facts.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

class LoweringFacts final : public DeclaredFacts {
 public:
  // REQUIRES: it outlives the object.
  explicit LoweringFacts(Lowering& lowering) : DeclaredFacts(lowering.era()), lowering_(lowering) {}

  HeldForm HeldFormOf(const Argument& input) const override;
  // An operand of channels is a parameter. One that is in no scope may be read: whoever reads it
  // gets the error.
  std::optional<IntegerReason> WhyNotRead(const Argument& operand) const override;
  // A lowered product gives one output.
  std::optional<IntegerReason> WhyNotFolded(const Op& op, const Argument& output) const override;

 private:
  Lowering& lowering_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_FACTS_H_
