// A rectifier whose slope below 0 is learned.

#ifndef FIXPOINT_RUNTIME_KERNELS_PRELU_H_
#define FIXPOINT_RUNTIME_KERNELS_PRELU_H_

#include <cstdint>

#include "absl/types/span.h"

namespace fixpoint::kernels {

// Elements [outer, slopes, inner]: each has the slope of its place on the axis in the middle.
struct PreluShape {
  int64_t outer = 1;
  int64_t slopes = 1;
  int64_t inner = 1;

  int64_t size() const { return outer * slopes * inner; }
};

// y = x where x > 0, else slope * x. REQUIRES, here and below: the sizes are the shape's. y may be
// x.
void Prelu(const PreluShape& shape, absl::Span<const float> x, absl::Span<const float> slopes,
           absl::Span<float> y);

// dx may be dy.
void PreluBackward(const PreluShape& shape, absl::Span<const float> x,
                   absl::Span<const float> slopes, absl::Span<const float> dy,
                   absl::Span<float> dx);

// dslopes = the sums of dy * x where x is not above 0, made in double in `sums`, one for each
// slope.
void PreluBackwardSlopes(const PreluShape& shape, absl::Span<const float> x,
                         absl::Span<const float> dy, absl::Span<double> sums,
                         absl::Span<float> dslopes);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PRELU_H_
