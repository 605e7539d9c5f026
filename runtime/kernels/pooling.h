// Pooling over windows of images, and its gradients. Images lie channels last.

#ifndef FIXPOINT_RUNTIME_KERNELS_POOLING_H_
#define FIXPOINT_RUNTIME_KERNELS_POOLING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/window.h"

namespace fixpoint::kernels {

enum class PoolingType { kMax, kAverage };

// What an average is divided by: how many elements of the image the window has; those and the
// padding; or the whole window, also where ceil_mode lets it reach beyond the padding.
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

// What `mask` keeps of the forward pass is where in its window each maximum was: the first of equal
// ones. A NaN is never the maximum. A window in padding alone, or without a number above minus
// infinity, has the lowest float for a maximum, whose gradient goes nowhere; an average there is 0.
class Pooling {
 public:
  // Errors: those of CompleteShape.
  static absl::StatusOr<std::unique_ptr<Pooling>> Plan(PoolingShape shape);
  virtual ~Pooling() = default;

  // One for each element of the output; 0 for averages.
  virtual int64_t mask_size() const = 0;

  // REQUIRES, here and below: the sizes are the shape's, and the mask's its own.
  virtual void Forward(absl::Span<const float> x, absl::Span<float> y,
                       absl::Span<int32_t> mask) const = 0;
  virtual void Backward(absl::Span<const float> dy, absl::Span<const int32_t> mask,
                        absl::Span<float> dx) const = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_POOLING_H_
