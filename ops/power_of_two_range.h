// Ranges whose step is a power of two, as machines need it that requantize by shifts.

#ifndef FIXPOINT_OPS_POWER_OF_TWO_RANGE_H_
#define FIXPOINT_OPS_POWER_OF_TWO_RANGE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fixpoint {

// BOOLEAN, on an op that finds a range: it is widened by PowerOfTwoRange. A parameter of quantizers
// has the same name. An op that only observes has `bit_length` with it.
inline constexpr char kPowerOfTwoStepsAttr[] = "power_of_two_steps";

// Up to this largest code, (code * range) / largest code is exactly code * step where the step is a
// power of two: FP32 holds the product of two such codes. Above it, some are an ulp beside.
constexpr int32_t kLargestCodeOfExactFloats = 4095;

// The least range that is not less than `range` and whose step, range / largest_code, is a power of
// two: 2^ceil(log2(step)) times the largest code, so that nothing more is clipped. FP32 holds it
// exactly. A step is at least 2^-99, since ranges up to 1e-30 count as 0 (InverseRange). 0, of a
// tensor of zeros, becomes the step 1. NaN and infinities are kept.
inline float PowerOfTwoRange(float range, int32_t largest_code) {
  constexpr int kLeastExponent = -99;
  if (!std::isfinite(range)) return range;
  if (range == 0) return static_cast<float>(largest_code);
  int exponent = 0;  // step = mantissa * 2^exponent, with a mantissa from 0.5 to below 1
  const double mantissa = std::frexp(static_cast<double>(range) / largest_code, &exponent);
  if (mantissa == 0.5) --exponent;
  return static_cast<float>(std::ldexp(largest_code, std::max(exponent, kLeastExponent)));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_POWER_OF_TWO_RANGE_H_
