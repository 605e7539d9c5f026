// Local response normalization over channels, which are on an axis [outer, channels, inner].

#ifndef FIXPOINT_RUNTIME_KERNELS_RESPONSE_NORM_H_
#define FIXPOINT_RUNTIME_KERNELS_RESPONSE_NORM_H_

#include <cstdint>

#include "absl/types/span.h"

namespace fixpoint::kernels {

struct ResponseNorm {
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;
  int64_t reach = 0;  // how many channels on either side of one count
  float k = 0;
  float alpha = 0;
  float beta = 0;

  // sums = k + alpha * the squares of the channels around each, y = x * sums^-beta.
  void Forward(absl::Span<const float> x, absl::Span<float> sums, absl::Span<float> y) const;
  void Backward(absl::Span<const float> x, absl::Span<const float> sums, absl::Span<const float> y,
                absl::Span<const float> dy, absl::Span<float> dx) const;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_RESPONSE_NORM_H_
