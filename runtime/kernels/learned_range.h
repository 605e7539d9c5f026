// The gradient of quantization whose range is learned: Learned Step Size Quantization (Esser et al.
// 2020, arXiv 1902.08153).

#ifndef FIXPOINT_RUNTIME_KERNELS_LEARNED_RANGE_H_
#define FIXPOINT_RUNTIME_KERNELS_LEARNED_RANGE_H_

#include "absl/types/span.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::kernels {

// With the largest code n, u = x * n / range and the codes `lowest` (-n, or -n - 1 of HALF_TO_EVEN)
// to n: dx = dy and drange = dy * (code - u) where lowest < u < n, else dx = 0 and drange = dy *
// code. dranges [channels] are the sums of drange over the channels' elements, in double, times
// `factor`. dx may be dy. REQUIRES: x, dy and dx have the channels' size, ranges and dranges one
// for each.
void LearnedRangeBackward(const CodeRange& rule, const Channels& channels,
                          absl::Span<const float> x, absl::Span<const float> ranges,
                          absl::Span<const float> dy, double factor, absl::Span<float> dx,
                          absl::Span<float> dranges);

// The average of |x| in each channel.
void MeanAbsolutes(const Channels& channels, absl::Span<const float> x, absl::Span<double> means);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LEARNED_RANGE_H_
