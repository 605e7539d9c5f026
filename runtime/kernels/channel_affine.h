// A factor and an addend for each channel.

#ifndef FIXPOINT_RUNTIME_KERNELS_CHANNEL_AFFINE_H_
#define FIXPOINT_RUNTIME_KERNELS_CHANNEL_AFFINE_H_

#include "absl/types/span.h"

namespace fixpoint::kernels {

// y = x * factor + addend of each channel, rounded behind each operation. Channels lie last.
// REQUIRES: as many addends as factors, and a multiple of that of x and y. y may be x.
void ChannelAffine(absl::Span<const float> x, absl::Span<const float> factors,
                   absl::Span<const float> addends, absl::Span<float> y);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CHANNEL_AFFINE_H_
