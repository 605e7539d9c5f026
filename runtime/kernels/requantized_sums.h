// Floats that are sums of products of codes, requantized as integers are (ops/fixed_point.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_REQUANTIZED_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_REQUANTIZED_SUMS_H_

#include "absl/types/span.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::kernels {

// Of each channel: the step of its sums, and what they are multiplied by.
struct SumFactors {
  absl::Span<const float> steps;
  absl::Span<const float> factors;
};

// out = what the sum x / step becomes, times the step of codes. `out` may be x. REQUIRES: as many
// elements as `channels` has, and as many factors as it has channels; `roundings` is 1 or 2.
void RequantizeSums(absl::Span<const float> x, const SumFactors& sums, const Channels& channels,
                    int roundings, float step_of_codes, absl::Span<float> out);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_REQUANTIZED_SUMS_H_
