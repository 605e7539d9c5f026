// The one place that defines how a float becomes a code and a code a float again.
//
// Every formula is the reference's, with the order of its float operations: `range` is what the
// reference calls scale (the abs-max that the largest code stands for), not the step.

#ifndef FIXPOINT_OPS_QUANT_MATH_H_
#define FIXPOINT_OPS_QUANT_MATH_H_

#include <cmath>
#include <cstdint>

#include "absl/types/span.h"
#include "ops/code_range.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {

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
//   HALF_TO_EVEN: round((n / range) * x), clamped to the smallest and the largest code.
// n is the largest code. A NaN gives NaN; a range of 0 gives 0 for x = 0.
inline float QuantizeOne(float x, float range, const CodeRange& codes) {
  const auto largest = static_cast<float>(codes.largest);
  const float multiplier = largest * InverseRange(range);
  if (codes.rounding == QuantSpec::HALF_TO_EVEN) {
    const auto smallest = static_cast<float>(codes.smallest);
    const float code = RoundHalfToEven(multiplier * x);
    if (code > largest) return largest;
    return code < smallest ? smallest : code;
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
