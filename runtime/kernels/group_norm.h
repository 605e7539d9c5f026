// Normalization of images over groups of their channels, each by its own mean and variance.

#ifndef FIXPOINT_RUNTIME_KERNELS_GROUP_NORM_H_
#define FIXPOINT_RUNTIME_KERNELS_GROUP_NORM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {

// x [batch, channels, places], or [batch, places, channels] where the channels are last. As many
// groups as channels: instance normalization.
struct GroupNormShape {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t places = 1;
  int64_t groups = 1;
  bool channels_last = false;
  float epsilon = 1e-5f;

  int64_t size() const { return batch * channels * places; }
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the average of squares (biased)
// for variance. Sums are in double, in an order that the shape alone decides. Not for two threads
// at once.
class GroupNorm {
 public:
  // Errors: those of CheckExtents (extents.h); the groups do not divide the channels
  // (kInvalidArgument).
  static absl::StatusOr<std::unique_ptr<GroupNorm>> Plan(const GroupNormShape& shape);
  virtual ~GroupNorm() = default;

  // REQUIRES, here and below: x, y and their gradients have the shape's size, mean and variance one
  // element for each group of each image, and all others one for each channel. scale may be empty,
  // which means 1, and bias, which means 0; dscale and dbias may be empty if they are not needed. y
  // may be x.
  virtual void Forward(absl::Span<const float> x, absl::Span<const float> scale,
                       absl::Span<const float> bias, absl::Span<float> y, absl::Span<float> mean,
                       absl::Span<float> variance) = 0;
  // Finds mean and variance again. dx may be dy.
  virtual void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                        absl::Span<const float> scale, absl::Span<float> dx,
                        absl::Span<float> dscale, absl::Span<float> dbias) = 0;
  // The same from y and the variances that Forward found. Where the scale is 0, y does not tell x,
  // which is taken to be the mean.
  virtual void BackwardFromOutput(absl::Span<const float> y, absl::Span<const float> variance,
                                  absl::Span<const float> dy, absl::Span<const float> scale,
                                  absl::Span<const float> bias, absl::Span<float> dx,
                                  absl::Span<float> dscale, absl::Span<float> dbias) = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_GROUP_NORM_H_
