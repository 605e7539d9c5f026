// What the text of a program alone says of its runs.

#ifndef FIXPOINT_OPS_CODES_DECLARED_FACTS_H_
#define FIXPOINT_OPS_CODES_DECLARED_FACTS_H_

#include <optional>

#include "ops/codes/run_facts.h"

namespace fixpoint {

// Values are kept where an op fetches them, and variables where they are persistable.
class DeclaredFacts : public RunFacts {
 public:
  explicit DeclaredFacts(Era era) : era_(era) {}

  Era era() const override { return era_; }
  std::optional<KnownType> TypeOf(const Value& value) const override;
  // In the block of the op that writes it, and to a variable that holds nothing else.
  const Op* OnlyReader(const Value& value) const override;
  bool HasBegunTest(const Op& /*op*/) const override { return false; }
  // kUnknown where a run may hold codes.
  HeldForm HeldFormOf(const Argument& input) const override;
  BiasForm BiasFormOf(const Argument& /*addend*/) const override { return BiasForm::kFloats; }
  std::optional<IntegerReason> WhyNotRead(const Argument& /*operand*/) const override {
    return std::nullopt;
  }
  std::optional<IntegerReason> WhyNotFolded(const Op& /*op*/,
                                            const Argument& /*output*/) const override {
    return std::nullopt;
  }

  // The op that writes what an input reads, if nothing else reads it; null otherwise, and for null.
  const Op* WriterFor(const Argument* input) const;

 private:
  const Era era_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_DECLARED_FACTS_H_
