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

// codes = round_half_to_even(bias / scale), with the scale of each sum. False if one is not finite,
// or its magnitude exceeds `largest_code` (SumOfProducts::largest_bias in ops/sums_of_codes.h): the
// bias is then added in floats. REQUIRES: equal sizes.
inline bool FillBiasCodes(absl::Span<const float> bias, absl::Span<const float> scales,
                          int64_t largest_code, absl::Span<int32_t> codes) {
  const auto limit = static_cast<double>(largest_code);
  for (size_t i = 0; i < codes.size(); ++i) {
    const float code = RoundHalfToEven(bias[i] / scales[i]);
    if (!(std::fabs(static_cast<double>(code)) <= limit)) return false;
    codes[i] = static_cast<int32_t>(code);
  }
  return true;
}

// Where a program declares an integer bias, its codes have 16 or 32 bits. Those of 32 bits are from
// -kLargestBiasCode to kLargestBiasCode, which FP32 holds, and are added to smaller sums.
constexpr int32_t kLargestBiasCode = int32_t{1} << 30;

constexpr bool AreBiasBits(int64_t bits) { return bits == 16 || bits == 32; }

// REQUIRES for all of these: AreBiasBits(bits).
constexpr int32_t SmallestBiasCode(int bits) { return bits == 16 ? INT16_MIN : -kLargestBiasCode; }
constexpr int32_t LargestBiasCode(int bits) { return bits == 16 ? INT16_MAX : kLargestBiasCode; }

// The step of such a bias, which is that of the sums: (input range / largest code) * (weight range
// / largest code), each operation rounded. A weight's range of 0 counts as 1, which freezing stores
// for codes that are all 0.
inline float BiasStep(float input_range, int32_t input_largest_code, float weight_range,
                      int32_t weight_largest_code) {
  return StepOf(input_range, input_largest_code) *
         StepOf(weight_range == 0 ? 1 : weight_range, weight_largest_code);
}

// round_half_to_even(bias / step); 0 for a NaN, and if the step is 0 or NaN.
inline float UnclampedBiasCode(float bias, float step) {
  if (step == 0) return 0;
  const float code = RoundHalfToEven(bias / step);
  return std::isnan(code) ? 0 : code;
}

// The code of a bias: that, clamped to the smallest and the largest.
inline int32_t BiasCode(float bias, float step, int bits) {
  const auto smallest = static_cast<float>(SmallestBiasCode(bits));
  const auto largest = static_cast<float>(LargestBiasCode(bits));
  return static_cast<int32_t>(std::min(std::max(UnclampedBiasCode(bias, step), smallest), largest));
}

// Whether BiasCode can give this code, of 32 bits.
inline bool IsBiasCode(int32_t code) {
  return code >= -kLargestBiasCode && code <= kLargestBiasCode &&
         static_cast<int32_t>(static_cast<float>(code)) == code;
}

// Error (kInvalidArgument) if it cannot. `subject` is what has the code: "X holds".
inline absl::Status CheckBiasCode(int32_t code, absl::string_view subject) {
  if (IsBiasCode(code)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(subject, " ", code, "; want ", -kLargestBiasCode,
                                                 " to ", kLargestBiasCode,
                                                 ", of the integers that FP32 holds"));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_BIAS_CODES_H_
