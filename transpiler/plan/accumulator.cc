#include "transpiler/plan/accumulator.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/code_range.h"
#include "ops/codes/coded_product.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"
#include "transpiler/plan/accumulator_width.h"

namespace fixpoint {
namespace {

const SlotPlan* FindSlot(const std::vector<SlotPlan>& slots, absl::string_view name) {
  const auto found = std::find_if(slots.begin(), slots.end(), [name](const SlotPlan& slot) {
    return slot.argument->slot_name() == name;
  });
  return found == slots.end() ? nullptr : &*found;
}

// How many products a sum has; 0 if the program does not say. The bits of the codes do not matter.
int64_t ProductsOfSum(const Op& op, Era era) {
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  if (!attributes) return 0;
  const ProductOrReason decided =
      DecideProduct(op, *attributes, [](const Argument& operand) -> OperandOrReason {
        return CodedOperand{{}, DeclaredDims(operand)};
      });
  const auto* const product = std::get_if<CodedProduct>(&decided);
  return product != nullptr ? product->sums.products : 0;
}

}  // namespace

std::optional<std::string> WhyTooNarrow(const Target& target, const QuantizerTable& quantizers,
                                        const Op& op, Era era, const std::vector<SlotPlan>& slots) {
  const std::optional<ProductTrait>& trait = TraitsOf(op).product;
  if (!target.has_accumulator_bits() || !trait) return std::nullopt;
  const SlotPlan* const activation = FindSlot(slots, trait->activation);
  const SlotPlan* const weight = FindSlot(slots, trait->weight);
  if (activation == nullptr || weight == nullptr) return std::nullopt;
  const std::optional<QuantSpec> left = FindStoredSpec(activation->spec, quantizers);
  const std::optional<QuantSpec> right = FindStoredSpec(weight->spec, quantizers);
  // A spec that nothing supports is complained of elsewhere.
  if (!left || !right) return std::nullopt;
  const int64_t most = MostProducts(target.accumulator_bits(), *left, *right);
  const int64_t products = ProductsOfSum(op, era);
  if (products > 0 && products <= most) return std::nullopt;
  return absl::StrCat(products > 0 ? absl::StrCat(products) : "an unknown number of",
                      " products of ", left->bits(), " and ", right->bits(), " bits; ",
                      target.accumulator_bits(), " bits hold ", most);
}

}  // namespace fixpoint
