#include "ops/placed_dims.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {

absl::StatusOr<Dims> PlacedDims(DimsView dims, int rank, int64_t axis) {
  Dims placed(rank, 1);
  const int given = static_cast<int>(dims.size());
  if (axis == -1 || given == rank) {
    std::copy(dims.begin(), dims.end(), placed.end() - given);
    return placed;
  }
  while (dims.size() > 1 && dims.back() == 1) dims.remove_suffix(1);
  if (axis < 0 || axis > rank - static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "axis ", axis, " does not place ", DimsText(dims), " inside ", rank, " dimensions"));
  }
  std::copy(dims.begin(), dims.end(), placed.begin() + axis);
  return placed;
}

}  // namespace fixpoint
