// The one place that defines how a float becomes a code and a code a float again.
//
// Every formula is the reference's, with the order of its float operations: `range` is what the
// reference calls scale (the abs-max that the largest code stands for), not the step.

#ifndef FIXPOINT_OPS_QUANT_MATH_H_
#define FIXPOINT_OPS_QUANT_MATH_H_

#include <cmath>
#include <cstdint>

#include "absl/types/span.h"
#include "proto/quant_spec.pb.h"

namespace fixpoint {

// The largest code of `bits` signed bits: 127 for 8. REQUIRES: 1 <= bits <= 31.
constexpr int32_t LargestCode(int bits) { return (int32_t{1} << (bits - 1)) - 1; }

// The reference's bit_length of a spec: unsigned codes of b bits (0 to 2^b - 1) are the
// non-negative ones of b + 1 signed bits.
inline int BitLength(const QuantSpec& spec) {
  return spec.bits() + (spec.signedness() == QuantSpec::UNSIGNED ? 1 : 0);
}

// 1 / range; finite for a range of 0 (the reference since 1.8, fake_quantize_op.h).
inline float InverseRange(float range) {
  return range <= 1e-30f ? 1.0f / (range + 1e-6f) : 1.0f / range;
}

// std::nearbyint of the default rounding mode, whatever the mode is.
inline float RoundHalfToEven(float x) {
  const float rounded = std::round(x);
  if (std::fabs(x - std::trunc(x)) != 0.5f) return rounded;
  return 2.0f * std::round(x / 2.0f);
}

// The code of x, as a float, as the fake_quantize ops compute it.
//   HALF_AWAY_FROM_ZERO: round((n / range) * clamp(x, -range, range)), codes -n to n.
//   HALF_TO_EVEN: clamp(round((n / range) * x)), codes -n - 1 to n.
// n is the largest code. A NaN gives NaN; a range of 0 gives 0 for x = 0.
inline float QuantizeOne(float x, float range, int32_t largest_code, QuantSpec::Rounding rounding) {
  const float n = static_cast<float>(largest_code);
  const float multiplier = n * InverseRange(range);
  if (rounding == QuantSpec::HALF_TO_EVEN) {
    const float code = RoundHalfToEven(multiplier * x);
    if (code > n) return n;
    return code < -n - 1.0f ? -n - 1.0f : code;
  }
  if (x > range) x = range;
  if (x < -range) x = -range;
  return std::round(multiplier * x);
}

// The float that a code stands for: (code * range) / n.
inline float DequantizeOne(float code, float range, int32_t largest_code) {
  return code * range / static_cast<float>(largest_code);
}

// The distance between the floats of two adjacent codes.
inline float StepOf(float range, int32_t largest_code) {
  return range / static_cast<float>(largest_code);
}

// The largest absolute value; 0 for an empty span. A NaN that is not first is skipped, as the
// reference's comparison does; `skip_non_finite` skips NaN and infinities wherever they are.
float AbsMax(absl::Span<const float> values, bool skip_non_finite = false);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANT_MATH_H_
