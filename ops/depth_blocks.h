// The blocks of pixels that space_to_depth makes channels of.

#ifndef FIXPOINT_OPS_DEPTH_BLOCKS_H_
#define FIXPOINT_OPS_DEPTH_BLOCKS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ops/dims.h"

namespace fixpoint {

// The dims of Out for X [N,C,H,W]; those of X may be unknown (kUnknownDim). Error
// (kInvalidArgument): X is no such tensor; blocksize is below 2 or above 2^15, does not divide the
// height and the width, or its square the channels; an int64 does not hold the channels of Out.
absl::StatusOr<Dims> SpaceToDepthDims(DimsView x, int64_t blocksize);

// Where elements of X are that become neighbours, in the order of Out's memory: axes
// [N, C/(b*b), H, b, W, b], the channels of X being [b, b, C/(b*b)].
struct DepthBlocks {
  Dims out_dims;
  Dims places;
  Dims strides;  // in X, row major

  // Error: that of SpaceToDepthDims. REQUIRES: all dims of X are known.
  static absl::StatusOr<DepthBlocks> Of(DimsView x, int64_t blocksize);
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_DEPTH_BLOCKS_H_
