#include "ops/resizing.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// In float, as the reference computes it: 10 * 0.7f is 7.
absl::StatusOr<int64_t> ScaledSize(int64_t size, double scale) {
  const auto factor = static_cast<float>(scale);
  if (!(factor > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("scale is ", scale, "; want a positive number"));
  }
  if (size < 0) return kUnknownDim;
  const float scaled = static_cast<float>(size) * factor;
  constexpr float kMost = 9e18f;
  if (!(scaled < kMost)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scale ", scale, " of ", size, " is more than an int64 holds"));
  }
  return static_cast<int64_t>(scaled);
}

float StepOf(const ResizedAxis& axis, bool align_corners, float scale) {
  if (axis.to <= 1) return 0;
  if (align_corners) return static_cast<float>(axis.from - 1) / static_cast<float>(axis.to - 1);
  if (scale > 0) return 1 / scale;
  return static_cast<float>(axis.from) / static_cast<float>(axis.to);
}

}  // namespace

std::vector<double> ScalesOfAttribute(bool is_v2, const std::vector<double>& scale, size_t axes) {
  const bool is_none = is_v2 ? scale.size() < axes : scale.empty() || !(scale[0] > 0);
  return is_none ? std::vector<double>() : scale;
}

absl::StatusOr<std::vector<ResizedAxis>> ResizedAxes(DimsView from, const ResizeRequest& request) {
  const std::vector<double>& scales = request.scales;
  const bool has_sizes = !request.sizes.empty();
  if (has_sizes && request.sizes.size() != from.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the output's sizes are [",
                                                   absl::StrJoin(request.sizes, ", "), "]; want ",
                                                   from.size(), " of them"));
  }
  if (scales.size() > 1 && scales.size() < from.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the scales are [", absl::StrJoin(scales, ", "),
                                                   "]; want 1 or ", from.size()));
  }
  std::vector<ResizedAxis> axes;
  Dims sizes;
  for (size_t i = 0; i < from.size(); ++i) {
    ResizedAxis axis;
    axis.from = from[i];
    const double scale = scales.empty() ? 0 : scales[scales.size() == 1 ? 0 : i];
    if (!scales.empty()) {
      ASSIGN_OR_RETURN(axis.to, ScaledSize(axis.from, scale));
    } else {
      axis.to = request.wanted[i];
    }
    if (has_sizes) axis.to = request.sizes[i];
    const bool is_unknown = !has_sizes && !scales.empty() && axis.from < 0;
    if (axis.to < 1 && !is_unknown) {
      return absl::InvalidArgumentError(
          absl::StrCat("the output has the size ", axis.to, " on axis ", i, " of ", from.size(),
                       has_sizes ? ", as a tensor of sizes says"
                                 : ": neither out_d, out_h and out_w nor scale makes it positive",
                       "; want 1 or more"));
    }
    const bool steps_by_scale = request.is_v2 && !request.has_size_list;
    if (axis.from >= 0 && axis.to >= 0) {
      axis.step =
          StepOf(axis, request.align_corners, steps_by_scale ? static_cast<float>(scale) : 0);
    }
    axes.push_back(axis);
    sizes.push_back(axis.to);
  }
  RETURN_IF_ERROR(ElementCount(sizes).status());
  return axes;
}

absl::StatusOr<int64_t> PlaceAt(double position, const ResizedAxis& axis) {
  if (position < static_cast<double>(axis.from)) {
    return static_cast<int64_t>(std::max(position, 0.0));
  }
  return absl::InvalidArgumentError(absl::StrCat("the output's size is ", axis.to,
                                                 ", whose end is outside of an axis of ", axis.from,
                                                 " in steps of ", axis.step));
}

DimsView SpatialDims(DimsView x, bool is_channels_last) {
  return x.subspan(is_channels_last ? 1 : 2, x.size() - 2);
}

Dims WithSpatialDims(DimsView x, bool is_channels_last, const std::vector<ResizedAxis>& axes) {
  Dims dims(x.begin(), x.end());
  for (size_t i = 0; i < axes.size(); ++i) dims[(is_channels_last ? 1 : 2) + i] = axes[i].to;
  return dims;
}

}  // namespace fixpoint
