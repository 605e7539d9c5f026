// Codes with a zero point: code = clamp(round(x / step) + zero_point), number = (code - zero_point)
// * step (docs/numerics.md, "Affine codes").

#ifndef FIXPOINT_OPS_AFFINE_CODES_H_
#define FIXPOINT_OPS_AFFINE_CODES_H_

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/quant_math.h"
#include "proto/quant_spec.pb.h"

namespace fixpoint {

struct CodeLimits {
  float lowest;
  float largest;
};

// Of `bits` bits: from 0, or from -2^(bits - 1) signed.
inline CodeLimits LimitsOfCodes(int bits, bool is_unsigned) {
  const float lowest = is_unsigned ? 0.0f : -std::ldexp(1.0f, bits - 1);
  return {lowest, lowest + (std::ldexp(1.0f, bits) - 1.0f)};
}

struct AffineParams {
  float step = 1;
  float zero_point = 0;
};

// Of a range that holds 0, so that 0 is a code. One too small for a step that is a normal number is
// as good as none: the step is 1.
inline AffineParams AffineParamsOf(float min, float max, const CodeLimits& codes) {
  const float count = codes.largest - codes.lowest;
  // The range itself may be more than a float holds.
  const float range = max - min;
  const float found = std::isfinite(range) ? range / count : max / count - min / count;
  const float step = found >= std::numeric_limits<float>::min() ? found : 1.0f;
  const float zero_point = RoundHalfToEven(codes.lowest - min / step);
  return {step, std::clamp(zero_point, codes.lowest, codes.largest)};
}

// A NaN has the code of 0.
inline float AffineCode(float x, const AffineParams& params, const CodeLimits& codes,
                        QuantSpec::Rounding rounding) {
  const float steps = x / params.step;
  const float rounded =
      rounding == QuantSpec::HALF_TO_EVEN ? RoundHalfToEven(steps) : std::round(steps);
  const float code = rounded + params.zero_point;
  if (std::isnan(code)) return params.zero_point;
  return std::clamp(code, codes.lowest, codes.largest);
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_AFFINE_CODES_H_
