// Codes with a zero point: code = clamp(round(x / step) + zero_point), float = (code - zero_point)
// * step (docs/numerics.md, "Affine codes").

#ifndef FIXPOINT_OPS_AFFINE_CODES_H_
#define FIXPOINT_OPS_AFFINE_CODES_H_

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {

struct AffineParams {
  float step = 1;
  float zero_point = 0;
};

// The parameters for a range that contains 0, so that 0 has a code. If it is too small for a step
// that is a normal float, the step is 1.
inline AffineParams AffineParamsOf(float min, float max, const CodeRange& codes) {
  const auto smallest = static_cast<float>(codes.smallest);
  const auto largest = static_cast<float>(codes.largest);
  const float count = largest - smallest;
  // The range itself may exceed the largest float.
  const float range = max - min;
  const float found = std::isfinite(range) ? range / count : max / count - min / count;
  const float step = found >= std::numeric_limits<float>::min() ? found : 1.0f;
  const float zero_point = RoundHalfToEven(smallest - min / step);
  return {step, std::clamp(zero_point, smallest, largest)};
}

// The code of so many steps; that of NaN is the zero point.
inline float CodeOfSteps(float steps, float zero_point, const CodeRange& codes) {
  const float rounded =
      codes.rounding == QuantSpec::HALF_TO_EVEN ? RoundHalfToEven(steps) : std::round(steps);
  const float code = rounded + zero_point;
  if (std::isnan(code)) return zero_point;
  return std::clamp(code, static_cast<float>(codes.smallest), static_cast<float>(codes.largest));
}

// By a step that is found in the values.
inline float AffineCode(float x, const AffineParams& params, const CodeRange& codes) {
  return CodeOfSteps(x / params.step, params.zero_point, codes);
}

// By a step that is kept from run to run, whose reciprocal is rounded.
inline float StoredAffineCode(float x, const AffineParams& params, const CodeRange& codes) {
  return CodeOfSteps(x * (1 / params.step), params.zero_point, codes);
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_AFFINE_CODES_H_
