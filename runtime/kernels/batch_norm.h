// Batch normalization in training, with or without the relu behind it. Images lie channels last.

#ifndef FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_H_
#define FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {

// x [batch, channels, height, width]; normalised over all but the channels.
struct BatchNormShape {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t height = 1;
  int64_t width = 1;
  float epsilon = 1e-5f;
  bool relu = false;  // y = max(0, ...)

  int64_t size() const { return batch * channels * height * width; }
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias with the batch's mean and variance, the
// average of squares (biased). What `mask` keeps of the forward pass is where the relu let through.
// Not for two threads at once.
class BatchNorm {
 public:
  // Errors: those of CheckExtents (extents.h) and Planned (onednn.h).
  static absl::StatusOr<std::unique_ptr<BatchNorm>> Plan(const BatchNormShape& shape);
  virtual ~BatchNorm() = default;

  // Bytes of the mask; 0 without a relu.
  virtual int64_t mask_size() const = 0;

  // REQUIRES, here and below: x, y and their gradients have the shape's size, the mask its own, and
  // all others one element for each channel. y may be x where the gradient is not wanted.
  virtual void Forward(absl::Span<const float> x, absl::Span<const float> scale,
                       absl::Span<const float> bias, absl::Span<float> y, absl::Span<float> mean,
                       absl::Span<float> variance, absl::Span<uint8_t> mask) = 0;
  // dx may be dy.
  virtual void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                        absl::Span<const float> scale, absl::Span<const float> mean,
                        absl::Span<const float> variance, absl::Span<const uint8_t> mask,
                        absl::Span<float> dx, absl::Span<float> dscale,
                        absl::Span<float> dbias) = 0;

  // As oneDNN calls them, forward and backward.
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_H_
