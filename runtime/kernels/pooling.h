// Pooling over windows of images, and its gradients. Images lie channels last.

#ifndef FIXPOINT_RUNTIME_KERNELS_POOLING_H_
#define FIXPOINT_RUNTIME_KERNELS_POOLING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/pooling_shape.h"

namespace fixpoint::kernels {

// `mask` keeps from the forward pass where in its window each maximum was: the first of equal ones.
// A NaN is never the maximum. For a window in padding alone, or without a value above minus
// infinity, the maximum is the lowest float and its gradient goes nowhere; an average there is 0.
class Pooling {
 public:
  // Errors: those of CompleteShape.
  static absl::StatusOr<std::unique_ptr<Pooling>> Plan(PoolingShape shape);
  virtual ~Pooling() = default;

  // The size of the mask: one entry for each element of the output; 0 for averages.
  virtual int64_t mask_size() const = 0;

  // REQUIRES, here and below: the sizes are the shape's, and the mask has mask_size() entries.
  virtual void Forward(absl::Span<const float> x, absl::Span<float> y,
                       absl::Span<int32_t> mask) const = 0;
  virtual void Backward(absl::Span<const float> dy, absl::Span<const int32_t> mask,
                        absl::Span<float> dx) const = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_POOLING_H_
