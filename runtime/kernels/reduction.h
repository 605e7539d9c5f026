// Sums, means, maxima, minima and products over axes of a tensor.

#ifndef FIXPOINT_RUNTIME_KERNELS_REDUCTION_H_
#define FIXPOINT_RUNTIME_KERNELS_REDUCTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "runtime/kernels/element_loop.h"

namespace fixpoint::kernels {

enum class ReductionType { kSum, kMean, kMax, kMin, kProduct };

// x [dims], row major, and the axes that are reduced. Negative axes count from the end.
struct ReductionShape {
  ReductionType type = ReductionType::kSum;
  Dims dims;
  Dims axes;
};

// Elements are combined in double, in an order that the shape alone decides. A maximum or minimum
// over a NaN is the NaN. Not for two threads at once.
class Reduction {
 public:
  // Errors: an axis is not one of the dims (kInvalidArgument); those of CheckExtents (extents.h).
  static absl::StatusOr<std::unique_ptr<Reduction>> Plan(const ReductionShape& shape);
  virtual ~Reduction() = default;

  // The dims of the result: those of x, with 1 for each axis that is reduced.
  virtual int64_t out_size() const = 0;

  // REQUIRES, here and below: x and dx have the elements of the dims, out and dout out_size().
  virtual void Run(absl::Span<const float> x, absl::Span<float> out) = 0;
  // For a sum or mean: dout, divided by the count for a mean, goes to all elements that it was
  // computed from.
  virtual void Backward(absl::Span<const float> dout, absl::Span<float> dx) const = 0;

  // How Run combines elements; nothing: not as any Folding does, or it combines none.
  virtual std::optional<Folding> folding() const = 0;

  // As LoopsName says (vectorised.h).
  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_REDUCTION_H_
