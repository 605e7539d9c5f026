#include "runtime/kernels/requantized_sums.h"

#include <glog/logging.h>

#include <cstdint>

#include "ops/fixed_point.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

template <int kRoundings>
void Requantize(absl::Span<const float> x_span, const SumFactors& sums, const Channels& channels,
                float step_of_codes, absl::Span<float> out_span) {
  Vectorised([=, x = x_span.data(), out = out_span.data(), steps = sums.steps.data(),
              factors = sums.factors.data()] {
    const auto requantized = [=](float sum, float step, float factor) {
      return RequantizeFloat<kRoundings>(SumOf(sum, step), factor) * step_of_codes;
    };
    if (channels.inner == 1) {
      for (int64_t at = 0; at < channels.size(); at += channels.count) {
#pragma GCC ivdep  // out may be x
        for (int64_t c = 0; c < channels.count; ++c) {
          out[at + c] = requantized(x[at + c], steps[c], factors[c]);
        }
      }
      return;
    }
    for (int64_t line = 0; line < channels.outer * channels.count; ++line) {
      const float step = steps[line % channels.count];
      const float factor = factors[line % channels.count];
      const int64_t at = line * channels.inner;
#pragma GCC ivdep  // out may be x
      for (int64_t i = 0; i < channels.inner; ++i) {
        out[at + i] = requantized(x[at + i], step, factor);
      }
    }
  });
}

}  // namespace

void RequantizeSums(absl::Span<const float> x, const SumFactors& sums, const Channels& channels,
                    int roundings, float step_of_codes, absl::Span<float> out) {
  CHECK_EQ(static_cast<int64_t>(x.size()), channels.size());
  CHECK_EQ(out.size(), x.size());
  CHECK_EQ(static_cast<int64_t>(sums.steps.size()), channels.count);
  CHECK_EQ(static_cast<int64_t>(sums.factors.size()), channels.count);
  if (roundings == 1) {
    Requantize<1>(x, sums, channels, step_of_codes, out);
  } else {
    Requantize<2>(x, sums, channels, step_of_codes, out);
  }
}

}  // namespace fixpoint::kernels
