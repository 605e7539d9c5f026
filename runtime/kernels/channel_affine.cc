#include "runtime/kernels/channel_affine.h"

#include <cstdint>

#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

void ChannelAffine(absl::Span<const float> x, absl::Span<const float> factors,
                   absl::Span<const float> addends, absl::Span<float> y) {
  Vectorised([x = x.data(), y = y.data(), factors = factors.data(), addends = addends.data(),
              size = static_cast<int64_t>(x.size()),
              channels = static_cast<int64_t>(factors.size())] {
    for (int64_t i = 0; i < size; i += channels) {
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) y[i + c] = x[i + c] * factors[c] + addends[c];
    }
  });
}

}  // namespace fixpoint::kernels
