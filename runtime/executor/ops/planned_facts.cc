#include "runtime/executor/ops/planned_facts.h"

#include "ops/code_dtype.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"
#include "runtime/executor/ops/quantized_bias.h"
#include "runtime/executor/ops/row_codes.h"
#include "runtime/executor/ops/wide_codes.h"

namespace fixpoint::executor {

std::optional<KnownType> PlannedFacts::TypeOf(const Value& value) const {
  if (!op_.builder().IsPlanned(value)) return std::nullopt;
  const TensorType& type = op_.builder().TypeOf(value);
  return KnownType{type.dtype, type.dims};
}

HeldForm PlannedFacts::HeldFormOf(const Argument& input) const {
  const Value* const value = input.value();
  if (value == nullptr || !op_.builder().IsPlanned(*value)) return {};
  const Codes* const codes = op_.builder().FindCodes(*value);
  const bool are_codes = codes != nullptr && !codes->channel_axis;
  return {are_codes ? HeldForm::Kind::kCodes : HeldForm::Kind::kFloats, std::nullopt};
}

std::optional<kernels::CodeType> NumbersOfByte(const OpPlanner& op, absl::string_view slot) {
  const Value& value = op.InputValue(slot);
  const VarType::Type dtype = op.InputType(slot).dtype;
  if (IsCodeDtype(dtype) && slot == TraitsOf(op.op()).product->weight) {
    return CodeTypeOf(IsUnsignedDtype(dtype));
  }
  const Codes* const codes = op.builder().FindNumbers(value);
  return codes == nullptr ? std::nullopt : std::optional(codes->type);
}

OperandOrReason OperandOf(const OpPlanner& op, const Argument& operand) {
  const absl::string_view slot = OpPlanner::SlotOf(operand);
  const PlanBuilder& builder = op.builder();
  const Value& value = op.InputValue(slot);
  CodedOperand read = {{}, op.InputDims(slot)};
  if (const std::optional<kernels::CodeType> numbers = NumbersOfByte(op, slot)) {
    read.codes.is_unsigned = IsUnsigned(*numbers);
    return read;
  }
  if (const RowCodes* const rows = FindRowCodes(op, slot); rows != nullptr) {
    read.codes.channel_axis = rows->axis;
    read.codes.has_channel_zero_points = true;
    return read;
  }
  if (const WideCodes* const wide = FindWideCodes(op, slot); wide != nullptr) {
    read.codes.channel_axis = wide->channel_axis;
    read.codes.is_wide = true;
    return read;
  }
  const Codes* const codes = builder.FindCodes(value);
  if (codes == nullptr) return IntegerReason::kNotQuantized;
  read.codes.is_unsigned = codes->type == kernels::CodeType::kUint8;
  read.codes.has_zero_point = codes->zero_point.has_value();
  read.codes.channel_axis = codes->channel_axis;
  return read;
}

BiasForm PlannedFacts::BiasFormOf(const Argument& addend) const {
  const BiasCodes* const codes = FindBiasCodes(op_.builder(), *addend.value());
  if (codes == nullptr) return BiasForm::kFloats;
  const bool is_of_sums = sums_ != nullptr && codes->IsOfSums(sums_->inputs, sums_->weights);
  return is_of_sums ? BiasForm::kCodesOfSums : BiasForm::kOtherCodes;
}

std::optional<IntegerReason> PlannedFacts::WhyNotFolded(const Op& op,
                                                        const Argument& output) const {
  if (!op_.MayPlanAfter(op)) return IntegerReason::kAttributes;
  const bool is_needed = output.value() != nullptr && op_.demand().IsNeeded(*output.value());
  return is_needed ? std::nullopt : std::optional(IntegerReason::kNotAfterProduct);
}

}  // namespace fixpoint::executor
