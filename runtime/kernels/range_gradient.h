// The gradients of quantization at a range, or at a step and a zero point, that are trained, by a
// surrogate (ops/surrogate.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_RANGE_GRADIENT_H_
#define FIXPOINT_RUNTIME_KERNELS_RANGE_GRADIENT_H_

#include "absl/types/span.h"
#include "ops/affine_codes.h"
#include "ops/surrogate.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::kernels {

// dx = dy inside, else 0. dranges [channels] are the gradients of the ranges: sums over the
// channels' elements, in double, of what the surrogate gives the step, divided by the largest code.
// dx may be dy. REQUIRES: x, dy and dx have the channels' size, ranges and dranges one for each.
void RangeBackward(const CodeRange& rule, Surrogate surrogate, const Channels& channels,
                   absl::Span<const float> x, absl::Span<const float> ranges,
                   absl::Span<const float> dy, absl::Span<float> dx, absl::Span<float> dranges);

// The gradients of a step and of a zero point.
struct AffineGradient {
  float step;
  float zero_point;
};

// dx = dy inside, else 0. The gradients returned are sums over all elements, in double: of the
// step, what the surrogate gives it for codes less the zero point; of the zero point, -step * dy
// outside. dx may be dy. REQUIRES: x, dy and dx have one size.
AffineGradient AffineBackward(const CodeRange& rule, Surrogate surrogate,
                              const AffineParams& params, absl::Span<const float> x,
                              absl::Span<const float> dy, absl::Span<float> dx);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_RANGE_GRADIENT_H_
