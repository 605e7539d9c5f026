#include "runtime/kernels/channel_affine.h"

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {

void ChannelAffine(absl::Span<const float> x, absl::Span<const float> factors,
                   absl::Span<const float> addends, absl::Span<float> y) {
  const int64_t channels = static_cast<int64_t>(factors.size());
  const int64_t rows = static_cast<int64_t>(x.size()) / channels;
  ParallelFor(rows, 8 * channels,
              [=, x = x.data(), y = y.data(), factors = factors.data(), addends = addends.data()](
                  int64_t begin, int64_t end) {
                for (int64_t i = begin * channels; i < end * channels; i += channels) {
#pragma GCC ivdep
                  for (int64_t c = 0; c < channels; ++c) {
                    y[i + c] = x[i + c] * factors[c] + addends[c];
                  }
                }
              });
}

void ChannelSums(absl::Span<const float> x, absl::Span<const float> dy, absl::Span<double> of_dy,
                 absl::Span<double> of_products) {
  std::fill(of_dy.begin(), of_dy.end(), 0.0);
  std::fill(of_products.begin(), of_products.end(), 0.0);
  // Threads write different channels.
  const int64_t size = static_cast<int64_t>(x.size());
  const int64_t channels = static_cast<int64_t>(of_dy.size());
  ParallelFor(channels, 8 * (size / channels),
              [=, x = x.data(), dy = dy.data(), of_dy = of_dy.data(),
               of_products = of_products.data()](int64_t begin, int64_t end) {
                for (int64_t i = 0; i < size; i += channels) {
#pragma GCC ivdep
                  for (int64_t c = begin; c < end; ++c) {
                    of_dy[c] += double{dy[i + c]};
                    of_products[c] += double{dy[i + c]} * double{x[i + c]};
                  }
                }
              });
}

}  // namespace fixpoint::kernels
