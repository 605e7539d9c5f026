#include "ops/depth_blocks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

constexpr int64_t kLargestBlock = 1 << 15;

bool Divides(int64_t divisor, int64_t dim) { return dim < 0 || dim % divisor == 0; }

}  // namespace

absl::StatusOr<Dims> SpaceToDepthDims(DimsView x, int64_t blocksize) {
  const int64_t b = blocksize;
  if (x.size() != 4 || b < 2 || b > kLargestBlock || !Divides(b * b, x[1]) || !Divides(b, x[2]) ||
      !Divides(b, x[3])) {
    return absl::InvalidArgumentError(absl::StrCat(
        "blocksize is ", b, " and X is ", DimsText(x),
        "; want images, and 2 or more that divides the height and the width, and whose square "
        "divides the channels"));
  }
  Dims out(x.begin(), x.end());
  ASSIGN_OR_RETURN(out[1], ElementCount({x[1], b, b}));
  for (int axis = 2; axis < 4; ++axis) {
    if (out[axis] >= 0) out[axis] /= b;
  }
  return out;
}

absl::StatusOr<DepthBlocks> DepthBlocks::Of(DimsView x, int64_t blocksize) {
  ASSIGN_OR_RETURN(Dims out_dims, SpaceToDepthDims(x, blocksize));
  const int64_t b = blocksize;
  const int64_t group = x[1] / (b * b);
  const int64_t row = x[3];
  const int64_t channel = x[2] * row;
  return DepthBlocks{std::move(out_dims),
                     {x[0], group, x[2], b, x[3], b},
                     {x[1] * channel, channel, row, b * group * channel, 1, group * channel}};
}

}  // namespace fixpoint
