// The sizes of resized images: which of the inputs and attributes of nearest_interp,
// bilinear_interp and the like counts, and how far a step along an axis goes in the input.

#ifndef FIXPOINT_OPS_RESIZING_H_
#define FIXPOINT_OPS_RESIZING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"

namespace fixpoint {

// What an op says of its sizes. Of several the first counts. Lists are in the order of the axes.
struct ResizeRequest {
  bool is_v2 = false;
  bool align_corners = false;
  // The elements of SizeTensor, or else of OutSize; empty: the op has neither.
  std::vector<int64_t> sizes;
  bool has_size_list = false;  // they are those of SizeTensor
  // The elements of Scale, or else of the attribute; empty: the op has neither.
  std::vector<double> scales;
  // out_d, out_h and out_w, as far as there are such axes. Below 1: not given.
  std::vector<int64_t> wanted;
};

// One axis of an image that is resized.
struct ResizedAxis {
  int64_t from = 0;  // kUnknownDim, here and below: not known yet
  int64_t to = 0;
  float step = 0;  // in the input, for one element of the output
};

// The attribute `scale`, as a list for the axes: v1 has one number, not above 0 for none, and v2 a
// list with one for each axis; a shorter one counts as none.
std::vector<double> ScalesOfAttribute(bool is_v2, const std::vector<double>& scale, size_t axes);

// Error (kInvalidArgument): nothing says the sizes, or one is below 1 or not a number, or the
// output has more elements than an int64 holds.
absl::StatusOr<std::vector<ResizedAxis>> ResizedAxes(DimsView from, const ResizeRequest& request);

// The last element of an axis's input that is not after a position on it. Error
// (kInvalidArgument): the position is at its end or after it, or is NaN.
absl::StatusOr<int64_t> PlaceAt(double position, const ResizedAxis& axis);

// The spatial dimensions of X, and X's dims with others in their place.
DimsView SpatialDims(DimsView x, bool is_channels_last);
Dims WithSpatialDims(DimsView x, bool is_channels_last, const std::vector<ResizedAxis>& axes);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_RESIZING_H_
