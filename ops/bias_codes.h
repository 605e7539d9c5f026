// A bias as integers, in steps of the sums that it is added to.

#ifndef FIXPOINT_OPS_BIAS_CODES_H_
#define FIXPOINT_OPS_BIAS_CODES_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "ops/quant_math.h"

namespace fixpoint {

// codes = round_half_to_even(bias / scale), with the scale of each sum. False where one is not
// finite, or may be more than 32 bits hold once a sum of up to `largest_sum` is added: the bias is
// then added as numbers. REQUIRES: equal sizes.
inline bool FillBiasCodes(absl::Span<const float> bias, absl::Span<const float> scales,
                          int64_t largest_sum, absl::Span<int32_t> codes) {
  const auto limit = static_cast<double>(INT32_MAX - largest_sum);
  for (size_t i = 0; i < codes.size(); ++i) {
    const float code = RoundHalfToEven(bias[i] / scales[i]);
    if (!(std::fabs(static_cast<double>(code)) <= limit)) return false;
    codes[i] = static_cast<int32_t>(code);
  }
  return true;
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_BIAS_CODES_H_
