#include "runtime/executor/ops/resize_taps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "proto/base/status_macros.h"

namespace fixpoint::executor {
namespace {

using kernels::AxisTaps;
using kernels::Places;

void AddTap(int64_t place, float weight, AxisTaps* taps) {
  taps->places.push_back(static_cast<int32_t>(place));
  taps->weights.push_back(weight);
}

absl::StatusOr<AxisTaps> LinearTaps(const ResizedAxis& axis, bool is_half) {
  AxisTaps taps;
  for (int64_t k = 0; k < axis.to; ++k) {
    const double centre = axis.step * (static_cast<double>(k) + 0.5) - 0.5;
    const float position =
        is_half ? std::max(static_cast<float>(centre), 0.0f) : axis.step * static_cast<float>(k);
    // The place is that of the centre before it is rounded.
    ASSIGN_OR_RETURN(const int64_t place, PlaceAt(is_half ? centre : position, axis));
    const float after = position - static_cast<float>(place);
    AddTap(place, 1 - after, &taps);
    AddTap(std::min(place + 1, axis.from - 1), after, &taps);
    taps.End();
  }
  return taps;
}

// Keys's kernel with A = -0.75.
absl::StatusOr<AxisTaps> CubicTaps(const ResizedAxis& axis, bool align_corners) {
  constexpr double kA = -0.75;
  const auto weight = [](double distance) {
    const double t = std::fabs(distance);
    if (t <= 1) return ((kA + 2) * t - (kA + 3)) * t * t + 1;
    return ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA;
  };
  RETURN_IF_ERROR(PlaceAt(0, axis).status());
  AxisTaps taps;
  for (int64_t k = 0; k < axis.to; ++k) {
    const double centre = axis.step * (static_cast<double>(k) + 0.5) - 0.5;
    const float corner = axis.step * static_cast<float>(k);
    // After its end the axis goes on with its last element.
    const float position = std::min(align_corners ? corner : static_cast<float>(centre),
                                    static_cast<float>(axis.from));
    const auto before = static_cast<int64_t>(std::floor(position));
    const double t = position - std::floor(position);
    for (int64_t i = -1; i <= 2; ++i) {
      AddTap(std::clamp<int64_t>(before + i, 0, axis.from - 1),
             static_cast<float>(weight(static_cast<double>(i) - t)), &taps);
    }
    taps.End();
  }
  return taps;
}

}  // namespace

absl::StatusOr<Places> NearestPlaces(const ResizeMethod& method, const ResizedAxis& axis) {
  Places places;
  for (int64_t k = 0; k < axis.to; ++k) {
    const float corner = axis.step * static_cast<float>(k);
    ASSIGN_OR_RETURN(const int64_t place,
                     PlaceAt(method.align_corners ? corner + 0.5 : corner, axis));
    places.push_back(static_cast<int32_t>(place));
  }
  return places;
}

absl::StatusOr<AxisTaps> TapsOf(const ResizeMethod& method, const ResizedAxis& axis) {
  if (method.kind == ResizeMethod::Kind::kCubic) return CubicTaps(axis, method.align_corners);
  return LinearTaps(axis, method.is_half);
}

bool KeepsSizes(const std::vector<ResizedAxis>& axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const ResizedAxis& axis) { return axis.from == axis.to; });
}

}  // namespace fixpoint::executor
