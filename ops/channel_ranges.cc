#include "ops/channel_ranges.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace fixpoint {

absl::Status CheckWeightScale(DimsView scale, DimsView x, int axis) {
  const auto is_unknown = [](int64_t dim) { return dim < 0; };
  const bool has_axis = axis >= 0 && axis < static_cast<int>(x.size());
  if (std::any_of(scale.begin(), scale.end(), is_unknown) || (has_axis && is_unknown(x[axis]))) {
    return absl::OkStatus();
  }
  int64_t ranges = 1;
  for (const int64_t dim : scale) {
    // As many as there can be channels, or more.
    ranges = dim > 0 && ranges > INT64_MAX / dim ? INT64_MAX : ranges * dim;
  }
  if (has_axis && ranges > 0 && x[axis] % ranges == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("WeightScale is ", DimsText(scale), " and X ", DimsText(x),
                   x.size() == 1 ? "" : absl::StrCat(" with channels on axis ", axis),
                   "; want one range, or one for each channel, or for each of a group"));
}

}  // namespace fixpoint
