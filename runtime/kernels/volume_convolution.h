// Convolution of volumes of floats, and its gradients, by oneDNN.

#ifndef FIXPOINT_RUNTIME_KERNELS_VOLUME_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_KERNELS_VOLUME_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/window_axes.h"

namespace fixpoint::kernels {

// x [batch, channels, D, H, W] and filters [filters, channels / groups, d, h, w] give y. Volumes
// lie row major in that order or, channels last, as [batch, D, H, W, channels]; filters row major.
struct VolumeShape {
  int64_t batch = 1;
  int64_t channels = 1;
  Dims sizes = {1, 1, 1};
  int64_t filters = 1;
  int64_t groups = 1;
  WindowAxes window;
  Dims out_sizes = {1, 1, 1};
  bool channels_last = false;

  Dims x_dims() const;  // in the order of memory, here and below
  Dims y_dims() const;
  int64_t taps() const;  // the summands of an element
};

// Finds out_sizes. Errors (kInvalidArgument): those of CheckExtents (extents.h); groups that do not
// divide the channels and filters; a stride or dilation below 1; a padding below 0; no window fits.
absl::Status CompleteShape(VolumeShape* shape);

// What is computed, of the two others.
enum class VolumeResult { kOutput, kVolumes, kFilters };

// Not for two threads at once.
class VolumeConvolution {
 public:
  // Errors: those of CompleteShape and Planned (onednn.h).
  static absl::StatusOr<std::unique_ptr<VolumeConvolution>> Plan(VolumeShape shape,
                                                                 VolumeResult result);
  virtual ~VolumeConvolution() = default;

  // y = x convolved with filters; dx of dy and filters; or dfilters of x and dy: in this order, the
  // result last. REQUIRES: the sizes are the shape's.
  virtual void Run(absl::Span<const float> first, absl::Span<const float> second,
                   absl::Span<float> result) = 0;

  // oneDNN's name for it.
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_VOLUME_CONVOLUTION_H_
