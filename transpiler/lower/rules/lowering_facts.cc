#include "transpiler/lower/rules/lowering_facts.h"

#include <algorithm>
#include <variant>

#include "absl/status/statusor.h"
#include "ops/codes/declared_dims.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"
#include "transpiler/lower/rules/bias_codes.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

// The parameter; null where an input is none, or is in no scope.
const Tensor* ParameterOf(const Argument* input, Lowering& lowering) {
  if (input == nullptr) return nullptr;
  const absl::StatusOr<const Tensor*> parameter = lowering.FindParameter(*input);
  return parameter.ok() ? *parameter : nullptr;
}

std::optional<ParameterBiasCodes> BiasCodesOf(const Argument& addend, Lowering& lowering) {
  const absl::StatusOr<std::optional<ParameterBiasCodes>> codes =
      FindParameterBiasCodes(addend, lowering);
  return codes.ok() ? *codes : std::nullopt;
}

}  // namespace

HeldForm LoweringFacts::HeldFormOf(const Argument& input) const {
  const std::optional<ActivationCodes> codes = lowering_.FindCodes(input);
  if (!codes) return DeclaredFacts::HeldFormOf(input);
  const auto zero_point = static_cast<float>(codes->zero_point.value_or(0));
  return {HeldForm::Kind::kCodes,
          EpilogueStage::AddCodes(codes->is_unsigned, codes->step(), zero_point)};
}

BiasForm LoweringFacts::BiasFormOf(const Argument& addend) const {
  const std::optional<ParameterBiasCodes> bias = BiasCodesOf(addend, lowering_);
  if (!bias) return BiasForm::kFloats;
  const Tensor* const scales =
      product_ != nullptr ? ParameterOf(product_->Input("Scales"), lowering_) : nullptr;
  const bool is_of_sums = scales != nullptr && bias->IsOfSums(scales->data<float>());
  return is_of_sums ? BiasForm::kCodesOfSums : BiasForm::kOtherCodes;
}

std::optional<IntegerReason> LoweringFacts::WhyNotRead(const Argument& operand) const {
  if (BiasCodesOf(operand, lowering_)) return IntegerReason::kAttributes;
  const absl::StatusOr<const Tensor*> parameter = lowering_.FindParameter(operand);
  if (parameter.ok() && (*parameter == nullptr || (*parameter)->dtype() != VarType::FP32)) {
    return IntegerReason::kNotParameter;
  }
  return std::nullopt;
}

std::optional<IntegerReason> LoweringFacts::WhyNotFolded(const Op& op,
                                                         const Argument& output) const {
  const bool gives_more =
      std::any_of(op.outputs().begin(), op.outputs().end(), [&output](const Argument* other) {
        return other != &output && other->value() != nullptr && !IsUnread(*other->value());
      });
  return gives_more ? std::optional(IntegerReason::kAttributes) : std::nullopt;
}

ProductResult ResultOf(const Op& product, const Argument& reader, Lowering& lowering) {
  const Dims dims = DeclaredDims(reader);
  ProductResult result = {reader.value(), dims,
                          TraitsOf(product).ChannelAxis(static_cast<int>(dims.size()))};
  if (const CodedProduct* const decided = lowering.FindProduct(product)) result.product = *decided;
  return result;
}

}  // namespace fixpoint
