// The parts of each axis that pooling takes, of images or volumes.

#ifndef FIXPOINT_OPS_POOLED_SPANS_H_
#define FIXPOINT_OPS_POOLED_SPANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "ops/era.h"
#include "ops/window_axes.h"

namespace fixpoint {

// The attributes of the ops; a number for each axis.
struct PoolingAttrs {
  std::vector<int64_t> ksize;
  std::vector<int64_t> strides;
  std::vector<int64_t> paddings;  // or two for each axis
  bool is_global = false;         // over the whole axes, whatever the rest says
  bool is_adaptive = false;       // ksize is the output's size
  bool ceil_mode = false;
  std::string padding_algorithm = "EXPLICIT";
};

// How many parts each axis of those sizes, -1 if unknown, has. Errors: attributes of a wrong length
// or range; no window fits.
absl::StatusOr<Dims> PooledSizes(const PoolingAttrs& attrs, DimsView sizes);

// A part of an axis.
struct PooledSpan {
  int64_t begin;
  int64_t end;     // after the last
  int64_t padded;  // how long the window is with the padding that an average may count
};

// The parts of each axis, as many as PooledSizes says; neighbours of an adaptive pooling overlap
// where the size is no multiple. A window in padding alone takes nothing. 2.x does not count what
// is after the padding, which ceil_mode can reach; 1.x does. Errors: those of PooledSizes.
absl::StatusOr<std::vector<std::vector<PooledSpan>>> PooledSpans(const PoolingAttrs& attrs,
                                                                 DimsView sizes, Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_POOLED_SPANS_H_
