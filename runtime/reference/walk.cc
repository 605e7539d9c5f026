#include "runtime/reference/walk.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint::reference {
namespace {

// Strides that repeat `dims` to `wanted`, of the same rank.
Dims Repeated(DimsView dims, DimsView wanted) {
  Dims strides = Strides(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1 && wanted[i] != 1) strides[i] = 0;
  }
  return strides;
}

// `dims` padded with 1s to `rank` dimensions. The offset of the first is `axis`; -1 is at the end.
absl::StatusOr<Dims> Placed(DimsView dims, int rank, int64_t axis) {
  const int given = static_cast<int>(dims.size());
  Dims placed(rank, 1);
  if (axis == -1 || given == rank) {
    std::copy(dims.begin(), dims.end(), placed.begin() + (rank - given));
    return placed;
  }
  DimsView kept = dims;
  while (kept.size() > 1 && kept.back() == 1) kept.remove_suffix(1);
  if (axis < 0 || axis + static_cast<int64_t>(kept.size()) > rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "axis ", axis, " does not place ", DimsText(dims), " inside ", rank, " dimensions"));
  }
  std::copy(kept.begin(), kept.end(), placed.begin() + axis);
  return placed;
}

}  // namespace

AxisView ViewAround(DimsView dims, int begin, int end) {
  return {Volume(dims.subspan(0, begin)), Volume(dims.subspan(begin, end - begin)),
          Volume(dims.subspan(end))};
}

Dims Strides(DimsView dims) {
  Dims strides(dims.size(), 1);
  for (int i = static_cast<int>(dims.size()) - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * dims[i + 1];
  }
  return strides;
}

absl::StatusOr<Pairing> Pair(DimsView x, DimsView y, int64_t axis) {
  const int rank = static_cast<int>(std::max(x.size(), y.size()));
  absl::StatusOr<Dims> of_x = Placed(x, rank, axis);
  if (!of_x.ok()) return of_x.status();
  absl::StatusOr<Dims> of_y = Placed(y, rank, axis);
  if (!of_y.ok()) return of_y.status();
  Dims dims(rank);
  for (int i = 0; i < rank; ++i) {
    const int64_t a = (*of_x)[i];
    const int64_t b = (*of_y)[i];
    if (a != b && a != 1 && b != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("X ", DimsText(x), " and Y ", DimsText(y),
                       " do not broadcast: want equal dimensions or 1, got ", a, " and ", b));
    }
    dims[i] = a == 1 ? b : a;
  }
  return Pairing{dims, Repeated(*of_x, dims), Repeated(*of_y, dims)};
}

}  // namespace fixpoint::reference
