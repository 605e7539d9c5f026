#include "runtime/kernels/learned_range.h"

#include <cstdint>

#include "ops/quant_math.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/vectorised.h"

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

// Calls f(start, size) with each run of elements of a channel that lie one behind the other.
template <typename F>
inline void ForEachRun(const Channels& channels, int64_t channel, F f) {
  for (int64_t o = 0; o < channels.outer; ++o) {
    f((o * channels.count + channel) * channels.inner, channels.inner);
  }
}

template <bool kToEven>
void Backward(const CodeRule& rule, const Channels& channels, const float* x, const float* ranges,
              const float* dy, double factor, float* dx, float* dranges) {
  const float n = static_cast<float>(rule.largest_code);
  for (int64_t c = 0; c < channels.count; ++c) {
    const float inverse = InverseRange(ranges[c]);
    const ByRange<kToEven> by{n, kToEven ? -n - 1.0f : -n, ranges[c], n * inverse, n * inverse};
    double sum = 0;
    Vectorised([=, sum = &sum] {
      ForEachRun(channels, c, [=](int64_t start, int64_t size) {
        const float* from = x + start;
        const float* gradient = dy + start;
        *sum += LaneSum(size, [=](int64_t i) {
          const float u = from[i] * by.inverse_step;
          const float code = by.Code(from[i]);
          return gradient[i] * (by.IsInside(u) ? code - u : code);
        });
        float* to = dx + start;
#pragma GCC ivdep
        for (int64_t i = 0; i < size; ++i) {
          to[i] = by.IsInside(from[i] * by.inverse_step) ? gradient[i] : 0.0f;
        }
      });
    });
    dranges[c] = static_cast<float>(sum * factor);
  }
}

}  // namespace

void LearnedRangeBackward(const CodeRule& rule, const Channels& channels, absl::Span<const float> x,
                          absl::Span<const float> ranges, absl::Span<const float> dy, double factor,
                          absl::Span<float> dx, absl::Span<float> dranges) {
  const auto backward = rule.rounding == QuantSpec::HALF_TO_EVEN ? Backward<true> : Backward<false>;
  backward(rule, channels, x.data(), ranges.data(), dy.data(), factor, dx.data(), dranges.data());
}

void MeanAbsolutes(const Channels& channels, absl::Span<const float> x, absl::Span<double> means) {
  const double count = static_cast<double>(channels.outer * channels.inner);
  for (int64_t c = 0; c < channels.count; ++c) {
    double sum = 0;
    Vectorised([=, x = x.data(), sum = &sum] {
      ForEachRun(channels, c, [=](int64_t start, int64_t size) {
        *sum += LaneSum(size, [=](int64_t i) { return __builtin_fabsf(x[start + i]); });
      });
    });
    means[c] = count > 0 ? sum / count : 0;
  }
}

}  // namespace fixpoint::kernels
