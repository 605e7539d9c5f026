// The image that unpool puts elements into.

#ifndef FIXPOINT_OPS_UNPOOLING_H_
#define FIXPOINT_OPS_UNPOOLING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"

namespace fixpoint {

// Its dims, of X [N,C,H,W], whose elements are maxima of windows; sizes that depend on an unknown
// one are unknown. A height and a width above 0 of `output_size`, which may be empty, are taken as
// they are. Error (kInvalidArgument): X is no [N,C,H,W]; an attribute has not two values, or some
// below 0 or above 2^30; the windows leave no image; there are more elements than an int64 holds.
absl::StatusOr<Dims> UnpooledDims(DimsView x, const std::vector<int64_t>& ksize,
                                  const std::vector<int64_t>& strides,
                                  const std::vector<int64_t>& paddings,
                                  std::vector<int64_t> output_size);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_UNPOOLING_H_
