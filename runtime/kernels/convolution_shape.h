// The shape that a convolution is planned for.

#ifndef FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_SHAPE_H_
#define FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_SHAPE_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "ops/window.h"

namespace fixpoint::kernels {

// x [batch, channels, height, width] and filters [filters, channels / groups, kernel] give
// [batch, filters, out_height, out_width]. Images lie in memory with their channels last.
struct ConvolutionShape {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t height = 1;
  int64_t width = 1;
  int64_t filters = 1;
  int64_t groups = 1;
  Window window;
  int64_t out_height = 1;
  int64_t out_width = 1;

  // Whether each window is one pixel, and there is one for each pixel.
  bool is_pointwise() const {
    return std::all_of(window.begin(), window.end(), [](const WindowAxis& axis) {
      return axis.kernel == 1 && axis.stride == 1 && axis.pad_before == 0 && axis.pad_after == 0;
    });
  }
  // How many products make one output element.
  int64_t taps() const { return channels / groups * window[0].kernel * window[1].kernel; }
  int64_t input_size() const { return batch * channels * height * width; }
  int64_t filter_size() const { return filters * taps(); }
  int64_t output_size() const { return batch * filters * out_height * out_width; }
};

// Finds out_height and out_width, and has the padding after an image reach as far as the only
// window of an axis, which may stick out (ops/window.h). Errors (kInvalidArgument): those of
// CheckExtents (extents.h); groups that do not divide the channels and filters; a stride or dilation
// below 1; a padding below 0; no window fits.
absl::Status CompleteShape(ConvolutionShape* shape);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CONVOLUTION_SHAPE_H_
