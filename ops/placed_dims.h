// Aligns the dimensions of a tensor with those of one that it broadcasts to.

#ifndef FIXPOINT_OPS_PLACED_DIMS_H_
#define FIXPOINT_OPS_PLACED_DIMS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ops/dims.h"

namespace fixpoint {

// The dims padded with 1s to `rank`, by the rule of ElementwiseShape (elementwise.h). Error
// (kInvalidArgument): the axis does not place them. REQUIRES: there are at most `rank` dims.
absl::StatusOr<Dims> PlacedDims(DimsView dims, int rank, int64_t axis);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_PLACED_DIMS_H_
