#include "ops/quant_math.h"

namespace fixpoint {

float AbsMax(absl::Span<const float> values, bool skip_non_finite) {
  float largest = 0.0f;
  bool first = true;
  for (const float value : values) {
    if (skip_non_finite && !std::isfinite(value)) continue;
    const float magnitude = std::fabs(value);
    if (first || largest < magnitude) largest = magnitude;
    first = false;
  }
  return largest;
}

}  // namespace fixpoint
