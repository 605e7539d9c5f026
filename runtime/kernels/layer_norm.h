// Normalization of the rows of a tensor, each by its own mean and variance.

#ifndef FIXPOINT_RUNTIME_KERNELS_LAYER_NORM_H_
#define FIXPOINT_RUNTIME_KERNELS_LAYER_NORM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {

// x [rows, width], row major.
struct LayerNormShape {
  int64_t rows = 1;
  int64_t width = 1;
  float epsilon = 1e-5f;

  int64_t size() const { return rows * width; }
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the average of squares (biased)
// for variance. Sums are in double, in an order that the shape alone decides. Not for two threads
// at once.
class LayerNorm {
 public:
  // Errors: those of CheckExtents (extents.h).
  static absl::StatusOr<std::unique_ptr<LayerNorm>> Plan(const LayerNormShape& shape);
  virtual ~LayerNorm() = default;

  // REQUIRES, here and below: x, y and their gradients have the shape's size, mean and variance one
  // element for each row, and all others one for each column. scale may be empty, which means 1,
  // and bias, which means 0; dscale and dbias may be empty if they are not needed. y may be x.
  virtual void Forward(absl::Span<const float> x, absl::Span<const float> scale,
                       absl::Span<const float> bias, absl::Span<float> y, absl::Span<float> mean,
                       absl::Span<float> variance) = 0;
  // The same y of any number of rows, for any number of threads at once. REQUIRES: x and y have
  // equal sizes.
  virtual void Normalize(absl::Span<const float> x, absl::Span<const float> scale,
                         absl::Span<const float> bias, absl::Span<float> y) const = 0;
  // dx may be dy.
  virtual void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                        absl::Span<const float> scale, absl::Span<float> dx,
                        absl::Span<float> dscale, absl::Span<float> dbias) = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LAYER_NORM_H_
