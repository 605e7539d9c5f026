#include "runtime/kernels/broadcast_loops.h"

#include <algorithm>

namespace fixpoint::kernels {

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
      levels_.push_back({size, has_x ? x_size_ : 0, has_y ? y_size_ : 0});
    }
    if (has_x) x_size_ *= size;
    if (has_y) y_size_ *= size;
    out_size_ *= size;
  }
  if (levels_.empty()) levels_.push_back({1, 1, 1});
  std::reverse(levels_.begin(), levels_.end());
}

}  // namespace fixpoint::kernels
