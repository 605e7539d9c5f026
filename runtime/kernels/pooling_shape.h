// The shape that a pooling is planned for.

#ifndef FIXPOINT_RUNTIME_KERNELS_POOLING_SHAPE_H_
#define FIXPOINT_RUNTIME_KERNELS_POOLING_SHAPE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ops/window.h"

namespace fixpoint::kernels {

enum class PoolingType { kMax, kAverage };

// The divisor of an average: how many elements of the image the window has; those and the padding;
// or the whole window, even where ceil_mode lets it reach beyond the padding.
enum class PoolingDivisor { kImage, kPaddedImage, kWindow };

// x [batch, channels, height, width] gives [batch, channels, out_height, out_width].
struct PoolingShape {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t height = 1;
  int64_t width = 1;
  PoolingType type = PoolingType::kMax;
  PoolingDivisor divisor = PoolingDivisor::kImage;
  // The output's places are windows, of dilation 1; or else, adaptive, out_height times out_width
  // parts that cover the image, neighbours overlapping where its size is no multiple.
  Window window;
  bool ceil_mode = false;
  bool adaptive = false;
  int64_t out_height = 1;
  int64_t out_width = 1;

  int64_t input_size() const { return batch * channels * height * width; }
  int64_t output_size() const { return batch * channels * out_height * out_width; }
};

// Finds out_height and out_width of windows. Errors (kInvalidArgument): those of CheckExtents
// (extents.h); a stride below 1; a dilation other than 1; a padding below 0; no window fits.
absl::Status CompleteShape(PoolingShape* shape);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_POOLING_SHAPE_H_
