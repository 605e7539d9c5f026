// Dropout and dither, with the numbers of runtime/random.h.

#ifndef FIXPOINT_RUNTIME_KERNELS_DROPOUT_H_
#define FIXPOINT_RUNTIME_KERNELS_DROPOUT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/random.h"

namespace fixpoint::kernels {

// y = factor * x where the element is kept, else 0. Element i is dropped where number i of the
// stream is below p, from 0 to 1; the mask is 1 where it is kept. y may be x. REQUIRES, here and
// below: the spans have one size.
void Dropout(const RandomStream& random, double p, float factor, absl::Span<const float> x,
             absl::Span<float> y, absl::Span<uint8_t> mask);

// dx = factor * dy where the element was kept, else 0. dx may be dy.
void DropoutBackward(float factor, absl::Span<const uint8_t> mask, absl::Span<const float> dy,
                     absl::Span<float> dx);

// y = x + (u - 1/2), with number i of the stream, uniform in [0, 1), as u of element i. y may be x.
void Dither(const RandomStream& random, absl::Span<const float> x, absl::Span<float> y);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_DROPOUT_H_
