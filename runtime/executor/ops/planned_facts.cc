#include "runtime/executor/ops/planned_facts.h"

#include "ops/codes/integer_reasons.h"
#include "proto/program/program.h"
#include "runtime/executor/ops/quantized_bias.h"

namespace fixpoint::executor {

std::optional<KnownType> PlannedFacts::TypeOf(const Value& value) const {
  if (!op_.builder().IsPlanned(value)) return std::nullopt;
  const TensorType& type = op_.builder().TypeOf(value);
  return KnownType{type.dtype, type.dims};
}

bool PlannedFacts::HasBegunTest(const Op& op) const {
  const std::optional<OpPlanner> planner = op_.After(op);
  return planner && planner->HasBegun();
}

HeldForm PlannedFacts::HeldFormOf(const Argument& input) const {
  const Value* const value = input.value();
  if (value == nullptr || !op_.builder().IsPlanned(*value)) return {};
  const Codes* const codes = op_.builder().FindCodes(*value);
  const bool are_codes = codes != nullptr && !codes->channel_axis;
  return {are_codes ? HeldForm::Kind::kCodes : HeldForm::Kind::kFloats, std::nullopt};
}

BiasForm PlannedFacts::BiasFormOf(const Argument& addend) const {
  return BiasFormOf(*addend.value());
}

BiasForm PlannedFacts::BiasFormOf(const Value& bias) const {
  const BiasCodes* const codes = FindBiasCodes(op_.builder(), bias);
  if (codes == nullptr) return BiasForm::kFloats;
  const bool is_of_sums = sums_ != nullptr && codes->IsOfSums(sums_->inputs, sums_->weights);
  return is_of_sums ? BiasForm::kCodesOfSums : BiasForm::kOtherCodes;
}

std::optional<IntegerReason> PlannedFacts::WhyNotFolded(const Op& op,
                                                        const Argument& output) const {
  if (!op_.After(op)) return IntegerReason::kAttributes;
  const bool is_needed = output.value() != nullptr && op_.demand().IsNeeded(*output.value());
  return is_needed ? std::nullopt : std::optional(IntegerReason::kNotAfterProduct);
}

}  // namespace fixpoint::executor
