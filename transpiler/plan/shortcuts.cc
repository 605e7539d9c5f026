#include "transpiler/plan/shortcuts.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/codes/folded_ops.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// Whether stages of an epilogue can compute the op. An op that normalizes counts: its statistics
// will be given.
bool IsStage(const Op& op, const StageTrait& stage, Era era) {
  if (stage.normalizes) return true;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  return attributes && stage.read(*attributes);
}

}  // namespace

const Argument* Shortcuts::InputOf(const Op& op) {
  const OpTraits& traits = TraitsOf(op);
  if (traits.stage && IsStage(op, *traits.stage, facts_.era())) {
    return op.Input(traits.stage->input);
  }
  const Argument* const bias = traits.sum ? op.Input(traits.sum->y) : nullptr;
  const bool is_parameter =
      bias != nullptr && bias->value() != nullptr && eligibility_.IsWeight(*bias->value());
  return is_parameter ? op.Input(traits.sum->x) : nullptr;
}

const Op* Shortcuts::ProductOf(const Argument& input) {
  const Argument* at = &input;
  while (at != nullptr && at->value() != nullptr && facts_.OnlyReader(*at->value()) == &at->op()) {
    const Op& op = *at->value()->op();
    if (&op.block() != &input.op().block()) return nullptr;
    if (products_.contains(&op)) return &op;
    at = InputOf(op);
  }
  return nullptr;
}

const Argument* Shortcuts::Find(const Op& sum, std::string& detail) {
  const SumTrait& trait = *TraitsOf(sum).sum;
  const Argument* const x = sum.Input(trait.x);
  const Argument* const y = sum.Input(trait.y);
  if (!equal_shapes_.OfSum(sum)) {
    detail = "X and Y are not known to be of one shape";
    return nullptr;
  }
  const Op* const product_of_x = ProductOf(*x);
  const Op* const product_of_y = ProductOf(*y);
  if (product_of_x == nullptr && product_of_y == nullptr) {
    detail = "neither input is the result of a quantized product that nothing else reads";
    return nullptr;
  }
  if (product_of_x == nullptr) return x;
  if (product_of_y == nullptr) return y;
  return &ProductOfSum(*product_of_x, *product_of_y) == product_of_x ? y : x;
}

}  // namespace fixpoint
