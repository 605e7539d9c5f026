#include "transpiler/lower/rules/found_quantization.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "ops/codes/held_codes.h"
#include "ops/quant_math.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "transpiler/lower/rules/move.h"

namespace fixpoint {
namespace {

// The one element of a parameter; null where the input is not such a parameter.
absl::StatusOr<const float*> FindNumber(const Argument* input, Lowering& lowering) {
  ASSIGN_OR_RETURN(const absl::Span<const float> numbers, lowering.FindNumbers(input));
  return numbers.size() == 1 ? numbers.data() : nullptr;
}

// How an op whose scale is a step makes codes; else nothing, and why.
absl::StatusOr<std::optional<Quantization>> QuantizationBySteps(const Op& op, const CodeOp& read,
                                                                Lowering& lowering,
                                                                IntegerReason* reason) {
  *reason = IntegerReason::kNotParameter;
  ASSIGN_OR_RETURN(const float* const step, FindNumber(read.scale, lowering));
  ASSIGN_OR_RETURN(const float* const zero_point, FindNumber(read.zero_point, lowering));
  if (step == nullptr || zero_point == nullptr) return std::nullopt;
  *reason = IntegerReason::kTooManyBits;
  const std::optional<CodeRange> held = CodesHeldOf(read, /*is_never_negative=*/false);
  if (!held) return std::nullopt;
  const CodeRange& codes = *held;
  if (!(std::isnormal(*step) && *step > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(DescribeInFile(op), ": ",
                                                   std::string(read.scale->slot_name()), " holds ",
                                                   *step, "; want a finite number above 0"));
  }
  if (!IsCode(*zero_point, codes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(op), ": ", std::string(read.zero_point->slot_name()), " holds ",
                     *zero_point, "; want a code, ", codes.smallest, " to ", codes.largest));
  }
  Quantization found;
  found.type.dtype = CodeDtype(codes.is_unsigned);
  found.type.range = *step * static_cast<float>(codes.largest);
  found.type.largest_code = codes.largest;
  found.type.zero_point = static_cast<int32_t>(*zero_point);
  found.multiplier = 1 / *step;
  found.smallest_code = codes.smallest;
  return found;
}

// The same for an op whose scale is what the largest code stands for.
absl::StatusOr<std::optional<Quantization>> QuantizationByRange(const Op& op, const CodeOp& read,
                                                                Lowering& lowering,
                                                                IntegerReason* reason) {
  *reason = IntegerReason::kGranularity;
  ASSIGN_OR_RETURN(const float* const range, FindNumber(read.scale, lowering));
  if (range == nullptr) return std::nullopt;
  RETURN_IF_ERROR(CheckRanges(op, {range, 1}));
  *reason = IntegerReason::kZeroPoint;
  if (read.zero_point != nullptr) {
    ASSIGN_OR_RETURN(const Tensor* zeros, lowering.FindParameter(*read.zero_point));
    if (zeros == nullptr) return std::nullopt;
    for (const uint8_t byte : zeros->bytes()) {
      if (byte != 0) return std::nullopt;
    }
  }
  *reason = IntegerReason::kTooManyBits;
  const bool is_never_negative = lowering.IsNeverNegative(*read.input);
  std::optional<CodeRange> held = CodesHeldOf(read, is_never_negative);
  if (!held) held = WideCodesOf(read, is_never_negative);
  if (!held) return std::nullopt;
  const CodeRange& codes = *held;
  Quantization found;
  found.type.dtype = CodeDtype(codes);
  found.type.range = *range;
  found.type.largest_code = codes.largest;
  found.multiplier = MultiplierOfCodes(*range, codes.largest, codes.rounding);
  found.smallest_code = codes.smallest;
  return found;
}

// Whether nothing reads the codes except ops that dequantize all of them.
bool AreDequantizedOnly(const Value& codes, const Lowering& lowering) {
  return std::all_of(
      codes.readers().begin(), codes.readers().end(),
      [&lowering](const Argument* reader) { return lowering.DequantizesTensor(reader->op()); });
}

}  // namespace

absl::StatusOr<std::optional<Quantization>> FindQuantization(const Op& op, Lowering& lowering,
                                                             IntegerReason* reason) {
  const auto stays = [reason](IntegerReason why) {
    *reason = why;
    return std::nullopt;
  };
  const std::optional<CodeOp> read = lowering.CodeOpOf(op);
  if (!read || read->finds_scale || read->output->value() == nullptr) {
    return stays(IntegerReason::kAttributes);
  }
  if (read->axis) return stays(IntegerReason::kGranularity);
  const Variable& codes = *read->output->variable();
  if (codes.values().size() != 1) return stays(IntegerReason::kRewritten);
  if (!AreDequantizedOnly(*read->output->value(), lowering)) {
    return stays(IntegerReason::kCodesAreRead);
  }
  if (!CanHoldCodes(codes)) return stays(IntegerReason::kUnknownShape);
  return read->scales_are_steps ? QuantizationBySteps(op, *read, lowering, reason)
                                : QuantizationByRange(op, *read, lowering, reason);
}

}  // namespace fixpoint
