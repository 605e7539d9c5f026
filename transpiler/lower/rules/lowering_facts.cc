#include "transpiler/lower/rules/lowering_facts.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {

HeldForm LoweringFacts::HeldFormOf(const Argument& input) const {
  const std::optional<ActivationCodes> codes = lowering_.FindCodes(input);
  if (!codes) return DeclaredFacts::HeldFormOf(input);
  const auto kind =
      codes->is_unsigned ? EpilogueStage::Kind::kAddUint8 : EpilogueStage::Kind::kAddInt8;
  const auto zero_point = static_cast<float>(codes->zero_point.value_or(0));
  return {HeldForm::Kind::kCodes, EpilogueStage{kind, codes->step(), zero_point}};
}

std::optional<IntegerReason> LoweringFacts::WhyNotRead(const Argument& operand) const {
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

}  // namespace fixpoint
