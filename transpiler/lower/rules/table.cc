#include "transpiler/lower/rules/table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_range.h"
#include "ops/op_traits.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/op_builder.h"
#include "runtime/kernels/activation_functions.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

// The float that each code stands for.
std::vector<float> NumbersOf(const ActivationCodes& codes) {
  std::vector<float> numbers(kCodesInByte);
  for (int i = 0; i < kCodesInByte; ++i) {
    const auto code = static_cast<float>(CodesOfByte(codes.is_unsigned).smallest + i);
    numbers[i] = codes.zero_point ? (code - static_cast<float>(*codes.zero_point)) * codes.step()
                                  : DequantizeOne(code, codes.range, codes.largest_code);
  }
  return numbers;
}

// The stages of an op that multiplies by a number and adds one; nothing for any other.
std::optional<Epilogue> LinearStagesOf(const Op& op, const Lowering& lowering) {
  const std::optional<StageTrait>& trait = TraitsOf(op).stage;
  if (!trait || trait->normalizes) return std::nullopt;
  const auto stages = trait->read(lowering.AttributesOf(op));
  if (!stages || stages->in_codes_alone) return std::nullopt;
  for (const EpilogueStage& stage : stages->epilogue) {
    if (stage.kind != Kind::kMultiply && stage.kind != Kind::kAdd) return std::nullopt;
  }
  return stages->epilogue;
}

// What a function of one element gives for each number.
void Apply(const Op& op, const Lowering& lowering, std::vector<float>& numbers) {
  if (TraitsOf(op).activation != nullptr) {
    const Activation activation = ActivationOf(op.type(), lowering.AttributesOf(op));
    return kernels::WithFunction(activation, [&numbers](auto function) {
      for (float& number : numbers) number = function(number);
    });
  }
  const Epilogue stages = *LinearStagesOf(op, lowering);
  for (const EpilogueStage& stage : stages) {
    for (float& number : numbers) {
      number = stage.kind == Kind::kMultiply ? number * stage.a : number + stage.a;
    }
  }
}

// An integer has no NaN.
int32_t CodeOf(float number, const Quantization& quantization) {
  const float scaled = number * quantization.multiplier;
  const int32_t zero_point = quantization.type.zero_point;
  if (std::isnan(scaled)) return zero_point;
  const auto smallest = static_cast<float>(quantization.smallest_code - zero_point);
  const auto largest = static_cast<float>(quantization.type.largest_code - zero_point);
  return static_cast<int32_t>(RoundHalfToEven(std::clamp(scaled, smallest, largest))) + zero_point;
}

template <typename Code>
Tensor CodesAs(absl::Span<const float> numbers, const Quantization& quantization) {
  std::vector<Code> codes;
  for (const float number : numbers) {
    codes.push_back(static_cast<Code>(CodeOf(number, quantization)));
  }
  return Tensor::FromValues<Code>({kCodesInByte}, codes);
}

Tensor CodesOf(absl::Span<const float> numbers, const Quantization& quantization) {
  return IsUnsignedDtype(quantization.type.dtype) ? CodesAs<uint8_t>(numbers, quantization)
                                                  : CodesAs<int8_t>(numbers, quantization);
}

}  // namespace

bool IsTableOfCodes(const Op& op, const Lowering& lowering) {
  return op.inputs().size() == 1 &&
         (TraitsOf(op).activation != nullptr || LinearStagesOf(op, lowering));
}

absl::StatusOr<bool> LowerToTable(const Op& op, Lowering& lowering) {
  if (!IsTableOfCodes(op, lowering)) return false;
  const std::optional<ActivationCodes> codes = lowering.FindCodes(*op.Input("X"));
  const Argument& out = *op.Output("Out");
  if (!codes || out.value() == nullptr) return false;
  std::vector<float> numbers = NumbersOf(*codes);
  Apply(op, lowering, numbers);
  ASSIGN_OR_RETURN(const std::string table,
                   lowering.AddParameter(absl::StrCat(out.name(), ".table"), std::move(numbers)));
  lowering.Replace(op, OpBuilder("integer_table")
                           .Input("X", codes->codes->name())
                           .Input("Table", table)
                           .Output("Out", out.name())
                           .BoolAttr("never_negative", lowering.IsNeverNegative(out))
                           .Build());
  return true;
}

absl::Status StoreInTable(const Op& table, absl::string_view codes,
                          const Quantization& quantization, Lowering& lowering) {
  const Argument& entries = *table.Input("Table");
  ASSIGN_OR_RETURN(const Tensor* numbers, lowering.FindParameter(entries));
  ASSIGN_OR_RETURN(
      const std::string stored,
      lowering.AddParameter(entries.name(), CodesOf(numbers->data<float>(), quantization)));
  OpDesc storing = table.desc();
  storing.mutable_inputs(entries.slot())->set_arguments(0, stored);
  storing.mutable_outputs(0)->set_arguments(0, std::string(codes));
  SetCodeType(quantization.type, &storing);
  lowering.rewriter().InsertBefore(table, storing);
  lowering.rewriter().Remove(table);
  return absl::OkStatus();
}

bool GivesSameCodes(const ActivationCodes& from, const Quantization& quantization) {
  const CodeType& to = quantization.type;
  if (CodeDtype(from.is_unsigned) != to.dtype || from.range != to.range ||
      from.largest_code != to.largest_code) {
    return false;
  }
  const std::vector<float> numbers = NumbersOf(from);
  for (int i = 0; i < kCodesInByte; ++i) {
    const int32_t code = CodesOfByte(from.is_unsigned).smallest + i;
    const bool may_be = code >= -from.largest_code - 1 && code <= from.largest_code;
    if ((may_be || from.zero_point) && CodeOf(numbers[i], quantization) != code) return false;
  }
  return true;
}

absl::Status RequantizeByTable(const Op& op, const ActivationCodes& from, absl::string_view codes,
                               const Quantization& quantization, Lowering& lowering) {
  ASSIGN_OR_RETURN(
      const std::string table,
      lowering.AddParameter(absl::StrCat(codes, ".table"), CodesOf(NumbersOf(from), quantization)));
  OpDesc storing = OpBuilder("integer_table")
                       .Input("X", from.codes->name())
                       .Input("Table", table)
                       .Output("Out", codes)
                       .BoolAttr("never_negative", lowering.IsNeverNegative(*op.Input("X")))
                       .Build();
  SetCodeType(quantization.type, &storing);
  lowering.Replace(op, std::move(storing));
  return absl::OkStatus();
}

}  // namespace fixpoint
