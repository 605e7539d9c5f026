#include "ops/codes/added_codes.h"

#include <optional>

#include "ops/equal_shapes.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {

HeldForm AddedForm(const Op& sum, const Argument& input, const RunFacts& facts) {
  return HaveEqualShapes(sum, facts.era()) ? facts.HeldFormOf(input) : HeldForm();
}

const Argument* FindAddedCodes(const Op& sum, const RunFacts& facts) {
  const std::optional<SumTrait>& trait = TraitsOf(sum).sum;
  if (!trait) return nullptr;
  for (const Argument* input : {sum.Input(trait->y), sum.Input(trait->x)}) {
    const bool adds_codes =
        input != nullptr && AddedForm(sum, *input, facts).kind == HeldForm::Kind::kCodes;
    if (adds_codes) return input;
  }
  return nullptr;
}

}  // namespace fixpoint
