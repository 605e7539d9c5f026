#include "runtime/kernels/broadcast_loops.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/placed_dims.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"

namespace fixpoint::kernels {

absl::StatusOr<Broadcast> BroadcastOf(DimsView x_dims, DimsView y_dims, int64_t axis) {
  RETURN_IF_ERROR(CheckExtents("X", x_dims));
  RETURN_IF_ERROR(CheckExtents("Y", y_dims));
  const int rank = static_cast<int>(std::max(x_dims.size(), y_dims.size()));
  ASSIGN_OR_RETURN(const Dims x, PlacedDims(x_dims, rank, axis));
  ASSIGN_OR_RETURN(const Dims y, PlacedDims(y_dims, rank, axis));
  Dims out(rank);
  for (int i = 0; i < rank; ++i) {
    if (x[i] != y[i] && x[i] != 1 && y[i] != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("X ", DimsText(x_dims), " and Y ", DimsText(y_dims),
                       " do not broadcast: want equal dimensions or 1, got ", x[i], " and ", y[i]));
    }
    out[i] = std::max(x[i], y[i]);
  }
  RETURN_IF_ERROR(ElementCount(out).status());
  return Broadcast{out, BroadcastLoops(x, y)};
}

BroadcastLoops::BroadcastLoops(DimsView x, DimsView y) {
  for (int i = static_cast<int>(x.size()) - 1; i >= 0; --i) {
    const bool has_x = x[i] >= y[i];
    const bool has_y = y[i] >= x[i];
    const int64_t size = std::max(x[i], y[i]);
    if (size == 1) continue;
    if (!levels_.empty() && (levels_.back().x_stride != 0) == has_x &&
        (levels_.back().y_stride != 0) == has_y) {
      levels_.back().size *= size;
    } else {
      levels_.push_back({size, has_x ? x_size_ : 0, has_y ? y_size_ : 0, out_size_});
    }
    if (has_x) x_size_ *= size;
    if (has_y) y_size_ *= size;
    out_size_ *= size;
  }
  if (levels_.empty()) levels_.push_back({1, 1, 1, 1});
  std::reverse(levels_.begin(), levels_.end());
}

BroadcastLoops::Part BroadcastLoops::PartOf(int level, int64_t begin, int64_t end) const {
  const Level& whole = levels_[level];
  Part part = {levels_, {begin * whole.x_stride, begin * whole.y_stride, begin * whole.out_stride}};
  part.levels[level].size = end - begin;
  return part;
}

}  // namespace fixpoint::kernels
