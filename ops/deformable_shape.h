// The extents of a deformable convolution.

#ifndef FIXPOINT_OPS_DEFORMABLE_SHAPE_H_
#define FIXPOINT_OPS_DEFORMABLE_SHAPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "ops/window.h"

namespace fixpoint {

// Input [batch, channels, height, width], Filter [out_channels, channels / groups, taps], Offset
// [batch, offset_groups * taps * 2, out_height, out_width], where a tap's row comes before its
// column, and Mask with half as many channels.
struct DeformableShape {
  int64_t batch;
  int64_t channels;
  int64_t height;
  int64_t width;
  int64_t out_channels;
  int64_t out_height;
  int64_t out_width;
  int64_t groups;
  int64_t offset_groups;
  Window window;

  int64_t taps() const { return window[0].kernel * window[1].kernel; }
  int64_t places() const { return out_height * out_width; }
  int64_t channels_of_group() const { return channels / groups; }
  int64_t channels_of_offsets() const { return channels / offset_groups; }
  Dims OutputDims() const { return {batch, out_channels, out_height, out_width}; }
  // Of Offset; of Mask, where there is one.
  Dims OffsetDims() const { return {batch, offset_groups * taps() * 2, out_height, out_width}; }
  Dims MaskDims() const { return {batch, offset_groups * taps(), out_height, out_width}; }

  // Where the tap of a place lies before it is moved.
  double Row(int64_t out_y, int64_t tap) const {
    return static_cast<double>(out_y * window[0].stride - window[0].pad_before +
                               tap / window[1].kernel * window[0].dilation);
  }
  double Column(int64_t out_x, int64_t tap) const {
    return static_cast<double>(out_x * window[1].stride - window[1].pad_before +
                               tap % window[1].kernel * window[1].dilation);
  }
};

// Error (kInvalidArgument): Input, Filter and the attributes do not fit each other.
absl::StatusOr<DeformableShape> DeformableShapeOf(const OpAttributes& op, DimsView input,
                                                  DimsView filter);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_DEFORMABLE_SHAPE_H_
