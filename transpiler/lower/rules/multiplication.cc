// The product of two activations, element by element (ops/codes/multiplied_codes.h), as in a gate
// or in squeeze-and-excitation:
//
//   integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255}
//   integer_dequantize(X=r) -> (Out=y) {range=1.0, largest_code=255}
//   elementwise_mul(X=x, Y=y) -> (Out=z) {axis=-1}
//
//   integer_elementwise_mul(X=q, Y=r, Scales=z.scales) -> (Out=z) {axis=-1}
//
// with the scale (2.0 / 255) * (1.0 / 255), rounded.

#include <memory>
#include <optional>
#include <string>

#include "ops/codes/integer_reasons.h"
#include "ops/codes/multiplied_codes.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "transpiler/lower/rules/lowering_facts.h"
#include "transpiler/lower/rules/product_of_codes.h"
#include "transpiler/lower/rules/rule.h"

namespace fixpoint {
namespace {

class MultiplicationRule final : public LoweringRule {
 public:
  absl::string_view name() const override { return "multiplication"; }
  absl::string_view doc() const override {
    return "A product of codes, element by element, is one of integers.";
  }
  std::vector<std::string> op_types() const override {
    return TypesWith(
        [](const OpTraits& op) { return op.multiplies_elements && !op.is_on_integers; });
  }

  absl::StatusOr<IntegerReason> Lower(const Op& op, Lowering& lowering) const override {
    const Argument* const x = op.Input("X");
    const Argument* const y = op.Input("Y");
    const Argument* const out = op.Output("Out");
    if (x == nullptr || y == nullptr || out == nullptr) return IntegerReason::kAttributes;
    const std::optional<ActivationCodes> x_codes = lowering.FindCodes(*x);
    const std::optional<ActivationCodes> y_codes = lowering.FindCodes(*y);
    if (!x_codes || !y_codes) return IntegerReason::kNotQuantized;
    if (!MultipliesCodes(op, LoweringFacts(lowering))) return IntegerReason::kAttributes;
    constexpr char kProduct[] = "integer_elementwise_mul";
    ASSIGN_OR_RETURN(const std::string scales,
                     AddScales(op, {x_codes->step() * y_codes->step()}, lowering));
    OpBuilder product(kProduct);
    product.Input("X", x_codes->codes->name())
        .Input("Y", y_codes->codes->name())
        .Input("Scales", scales)
        .Output("Out", out->name());
    for (const OpDesc::Attr& attribute :
         AttributesFor(kProduct, lowering.AttributesOf(op), {"axis"})) {
      product.Attr(attribute);
    }
    x_codes->AddZeroPoint(product);
    if (y_codes->zero_point) product.IntAttr("weight_zero_point", *y_codes->zero_point);
    lowering.Replace(op, product.Build());
    return IntegerReason::kOnIntegers;
  }
};

}  // namespace

std::unique_ptr<LoweringRule> MakeMultiplicationRule() {
  return std::make_unique<MultiplicationRule>();
}

}  // namespace fixpoint
