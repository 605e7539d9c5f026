#include "runtime/kernels/finite_range.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

template <typename How>
float Fold(absl::Span<const float> x_span) {
  double end = 0;
  Vectorised([x = x_span.data(), size = static_cast<int64_t>(x_span.size()), out = &end] {
    *out = LaneFold<How>(size, [x](int64_t i) {
      const float value = x[i];
      return __builtin_fabsf(value) <= std::numeric_limits<float>::max() ? value : 0.0f;
    });
  });
  return static_cast<float>(end);
}

}  // namespace

FiniteRange FindFiniteRange(absl::Span<const float> x) {
  return {std::min(Fold<LaneMin>(x), 0.0f), std::max(Fold<LaneMax>(x), 0.0f)};
}

}  // namespace fixpoint::kernels
