// A factor and an addend for each channel.

#ifndef FIXPOINT_RUNTIME_KERNELS_CHANNEL_AFFINE_H_
#define FIXPOINT_RUNTIME_KERNELS_CHANNEL_AFFINE_H_

#include "absl/types/span.h"

namespace fixpoint::kernels {

// y = x * factor + addend for each channel, rounded after each operation. Channels lie last.
// REQUIRES: as many addends as factors; the sizes of x and y are multiples of that. y may be x.
void ChannelAffine(absl::Span<const float> x, absl::Span<const float> factors,
                   absl::Span<const float> addends, absl::Span<float> y);

// The sums of dy, and of dy * x, over the elements of each channel. REQUIRES: x and dy have one
// size, a multiple of that of the sums.
void ChannelSums(absl::Span<const float> x, absl::Span<const float> dy, absl::Span<double> of_dy,
                 absl::Span<double> of_products);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CHANNEL_AFFINE_H_
