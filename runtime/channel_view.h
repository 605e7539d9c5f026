// A row-major tensor seen as [outer, channels, inner].

#ifndef FIXPOINT_RUNTIME_CHANNEL_VIEW_H_
#define FIXPOINT_RUNTIME_CHANNEL_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint {

struct ChannelView {
  int64_t channels = 1;
  int64_t inner = 1;

  // Without an axis, which is -1, the tensor is one channel. REQUIRES: axis < dims.size().
  ChannelView(absl::Span<const int64_t> dims, int axis) {
    if (axis >= 0) channels = dims[axis];
    for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  }

  int64_t ChannelOf(int64_t element) const { return element / inner % channels; }

  // Calls `visit` with each run of neighbours that are of channel `c`; T may be const.
  template <typename T, typename Visit>
  void ForEachRun(absl::Span<T> elements, int64_t c, Visit visit) const {
    for (size_t i = c * inner; i < elements.size(); i += channels * inner) {
      visit(elements.subspan(i, inner));
    }
  }
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_CHANNEL_VIEW_H_
