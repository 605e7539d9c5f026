#include "transpiler/lowering/table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/activation.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/quant_math.h"
#include "proto/op_builder.h"
#include "proto/status_macros.h"
#include "runtime/kernels/activation_functions.h"

namespace fixpoint {
namespace {

constexpr int kTableSize = 256;

std::vector<float> NumbersOf(const Activation& activation, const ActivationCodes& codes) {
  const int smallest = codes.is_unsigned ? 0 : -128;
  std::vector<float> numbers(kTableSize);
  kernels::WithFunction(activation, [&](auto function) {
    for (int i = 0; i < kTableSize; ++i) {
      const auto code = static_cast<float>(smallest + i);
      numbers[i] = function(DequantizeOne(code, codes.range, codes.largest_code));
    }
  });
  return numbers;
}

// An integer has no NaN.
int32_t CodeOf(float number, const Quantization& quantization) {
  const float scaled = number * quantization.multiplier;
  if (std::isnan(scaled)) return 0;
  return static_cast<int32_t>(
      RoundHalfToEven(std::clamp(scaled, static_cast<float>(quantization.smallest_code),
                                 static_cast<float>(quantization.type.largest_code))));
}

template <typename Code>
Tensor CodesOf(const Tensor& numbers, const Quantization& quantization) {
  std::vector<Code> codes;
  for (const float number : numbers.data<float>()) {
    codes.push_back(static_cast<Code>(CodeOf(number, quantization)));
  }
  return Tensor::FromValues<Code>({kTableSize}, codes);
}

}  // namespace

absl::StatusOr<bool> LowerToTable(const Op& op, Lowering& lowering) {
  const OpSchema* const schema = FindOpSchema(op.type());
  const Era era = lowering.era();
  if (op.inputs().size() != 1 || !CheckForm(op, *schema, era).ok()) return false;
  const std::optional<ActivationCodes> codes = lowering.FindCodes(*op.Input("X"));
  const Argument& out = *op.Output("Out");
  if (!codes || out.value() == nullptr) return false;
  const Activation activation = ActivationOf(op.type(), OpAttributes(op, *schema, era), era);
  ASSIGN_OR_RETURN(
      const std::string table,
      lowering.AddParameter(absl::StrCat(out.name(), ".table"), NumbersOf(activation, *codes)));
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
  const bool is_unsigned = quantization.type.dtype == VarType::UINT8;
  ASSIGN_OR_RETURN(
      const std::string stored,
      lowering.AddParameter(entries.name(), is_unsigned ? CodesOf<uint8_t>(*numbers, quantization)
                                                        : CodesOf<int8_t>(*numbers, quantization)));
  OpDesc storing = table.desc();
  storing.mutable_inputs(entries.slot())->set_arguments(0, stored);
  storing.mutable_outputs(0)->set_arguments(0, std::string(codes));
  SetCodeType(quantization.type, &storing);
  lowering.rewriter().InsertBefore(table, storing);
  lowering.rewriter().Remove(table);
  return absl::OkStatus();
}

}  // namespace fixpoint
