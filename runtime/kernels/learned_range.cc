#include "runtime/kernels/learned_range.h"

#include <cstdint>

#include "ops/quant_math.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// Quantization by one range, as QuantizeOne of ops/quant_math.h computes it.
template <bool kToEven>
struct ByRange {
  float n;
  float lowest;
  float range;
  float multiplier;
  float inverse_step;  // of u

  float Code(float x) const {
    if (kToEven) {
      const float code = __builtin_nearbyintf(multiplier * x);
      const float below = code > n ? n : code;
      return below < lowest ? lowest : below;
    }
    const float upper = x > range ? range : x;
    const float scaled = multiplier * (upper < -range ? -range : upper);
    const float whole = __builtin_truncf(scaled);
    const float away = __builtin_fabsf(scaled - whole) >= 0.5f ? 1.0f : 0.0f;
    return whole + __builtin_copysignf(away, scaled);
  }
  bool IsInside(float u) const { return u > lowest && u < n; }
};

// Calls f(start, size) with each run of elements of a channel that lie one after the other.
template <typename F>
inline void ForEachRun(const Channels& channels, int64_t channel, F f) {
  for (int64_t o = 0; o < channels.outer; ++o) {
    f((o * channels.count + channel) * channels.inner, channels.inner);
  }
}

template <bool kToEven>
void Backward(const CodeRange& rule, const Channels& channels, const float* x, const float* ranges,
              const float* dy, double factor, float* dx, float* dranges) {
  const auto by_range_of = [=, n = static_cast<float>(rule.largest),
                            smallest = static_cast<float>(rule.smallest)](int64_t channel) {
    const float range = ranges[channel];
    const float inverse = InverseRange(range);
    return ByRange<kToEven>{n, smallest, range, n * inverse, n * inverse};
  };
  const auto term_of = [=](const ByRange<kToEven>& by, int64_t start) {
    return [=](int64_t i) {
      const float u = x[start + i] * by.inverse_step;
      const float code = by.Code(x[start + i]);
      return dy[start + i] * (by.IsInside(u) ? code - u : code);
    };
  };
  const auto pass = [=](const ByRange<kToEven>& by, int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      dx[i] = by.IsInside(x[i] * by.inverse_step) ? dy[i] : 0.0f;
    }
  };
  if (channels.count == 1) {
    const ByRange<kToEven> by = by_range_of(0);
    const double sum = ParallelSum(channels.size(), 8, term_of(by, 0));
    ParallelFor(channels.size(), 12, [=](int64_t begin, int64_t end) { pass(by, begin, end); });
    dranges[0] = static_cast<float>(sum * factor);
    return;
  }
  ParallelFor(channels.count, 20 * channels.outer * channels.inner,
              [=](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  const ByRange<kToEven> by = by_range_of(c);
                  double sum = 0;
                  ForEachRun(channels, c, [=, sum = &sum](int64_t start, int64_t size) {
                    *sum += LaneSum(size, term_of(by, start));
                    pass(by, start, start + size);
                  });
                  dranges[c] = static_cast<float>(sum * factor);
                }
              });
}

}  // namespace

void LearnedRangeBackward(const CodeRange& rule, const Channels& channels,
                          absl::Span<const float> x, absl::Span<const float> ranges,
                          absl::Span<const float> dy, double factor, absl::Span<float> dx,
                          absl::Span<float> dranges) {
  const auto backward = rule.rounding == QuantSpec::HALF_TO_EVEN ? Backward<true> : Backward<false>;
  backward(rule, channels, x.data(), ranges.data(), dy.data(), factor, dx.data(), dranges.data());
}

void MeanAbsolutes(const Channels& channels, absl::Span<const float> x, absl::Span<double> means) {
  const auto absolute_from = [x = x.data()](int64_t start) {
    return [=](int64_t i) { return __builtin_fabsf(x[start + i]); };
  };
  const double count = static_cast<double>(channels.outer * channels.inner);
  if (channels.count == 1) {
    means[0] = count > 0 ? ParallelSum(channels.size(), 4, absolute_from(0)) / count : 0;
    return;
  }
  ParallelFor(channels.count, 4 * channels.outer * channels.inner,
              [=, means = means.data()](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  double sum = 0;
                  ForEachRun(channels, c, [=, sum = &sum](int64_t start, int64_t size) {
                    *sum += LaneSum(size, absolute_from(start));
                  });
                  means[c] = count > 0 ? sum / count : 0;
                }
              });
}

}  // namespace fixpoint::kernels
