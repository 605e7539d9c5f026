// A bias as integers, in steps of the sums that it is added to.

#ifndef FIXPOINT_OPS_BIAS_CODES_H_
#define FIXPOINT_OPS_BIAS_CODES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

// Where a program says that a bias is one of integers: codes from -kLargestBiasCode to that, which
// FP32 holds, added to sums of less.
constexpr int32_t kLargestBiasCode = int32_t{1} << 30;

// The step of such a bias, which is that of the sums: (input range / largest code) * (weight range
// / largest code), each operation rounded. A weight's range of 0 counts as 1, which is what
// freezing stores for codes that are all 0.
inline float BiasStep(float input_range, int32_t input_largest_code, float weight_range,
                      int32_t weight_largest_code) {
  return StepOf(input_range, input_largest_code) *
         StepOf(weight_range == 0 ? 1 : weight_range, weight_largest_code);
}

// The code of a bias: round_half_to_even(bias / step), between the smallest and the largest; 0 of a
// NaN, and where the step is 0 or NaN.
inline int32_t BiasCode(float bias, float step) {
  if (step == 0) return 0;
  const float code = RoundHalfToEven(bias / step);
  if (std::isnan(code)) return 0;
  constexpr auto kLargest = static_cast<float>(kLargestBiasCode);
  return static_cast<int32_t>(std::min(std::max(code, -kLargest), kLargest));
}

// Whether it is one that BiasCode may give.
inline bool IsBiasCode(int32_t code) {
  return code >= -kLargestBiasCode && code <= kLargestBiasCode &&
         static_cast<int32_t>(static_cast<float>(code)) == code;
}

// Error (kInvalidArgument): it is none. `subject` is what has it: "X holds".
inline absl::Status CheckBiasCode(int32_t code, absl::string_view subject) {
  if (IsBiasCode(code)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(subject, " ", code, "; want ", -kLargestBiasCode,
                                                 " to ", kLargestBiasCode,
                                                 ", of the integers that FP32 holds"));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_BIAS_CODES_H_
