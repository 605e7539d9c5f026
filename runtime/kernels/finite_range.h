// The range of a tensor's values, as the affine quantizer follows it.

#ifndef FIXPOINT_RUNTIME_KERNELS_FINITE_RANGE_H_
#define FIXPOINT_RUNTIME_KERNELS_FINITE_RANGE_H_

#include "absl/types/span.h"

namespace fixpoint::kernels {

struct FiniteRange {
  float smallest = 0;
  float largest = 0;
};

// The range of the finite values, and of 0.
FiniteRange FindFiniteRange(absl::Span<const float> x);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FINITE_RANGE_H_
