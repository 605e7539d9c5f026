#include "ops/codes/coded_gradients.h"

#include "ops/codes/integer_reasons.h"
#include "ops/sums_of_codes.h"

namespace fixpoint {

std::optional<IntegerReason> WhyNotOnIntegers(const GradientSums& sums) {
  for (const OperandCodes* const codes : {&sums.left, &sums.right}) {
    if (codes->is_wide) return IntegerReason::kTooManyBits;
    if (codes->has_zero_point || codes->has_channel_zero_points) return IntegerReason::kZeroPoint;
    if (codes->channel_axis) return IntegerReason::kGranularity;
  }
  if (sums.right.is_unsigned) return IntegerReason::kUnsignedOperand;
  SumOfProducts sum;
  sum.products = sums.products;
  sum.is_unsigned = sums.left.is_unsigned;
  return SumsFit(sum) ? std::nullopt : std::optional(IntegerReason::kSumsTooLarge);
}

}  // namespace fixpoint
