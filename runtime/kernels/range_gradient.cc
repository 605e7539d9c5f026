#include "runtime/kernels/range_gradient.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "ops/quant_math.h"
#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

template <bool kToEven>
inline float Rounded(float u) {
  if (kToEven) return __builtin_nearbyintf(u);
  const float whole = __builtin_truncf(u);
  return whole + __builtin_copysignf(__builtin_fabsf(u - whole) >= 0.5f ? 1.0f : 0.0f, u);
}

// Which values of u the surrogate takes as inside the codes `lowest` to `n`.
template <bool kToEven, Surrogate kSurrogate>
struct Bounds {
  float n;
  float lowest;

  bool IsInside(float u) const {
    const float bounded = kSurrogate == Surrogate::kRoundThenClamp ? Rounded<kToEven>(u) : u;
    if (kSurrogate == Surrogate::kRoundThenClamp) return bounded >= lowest && bounded <= n;
    return bounded > lowest && bounded < n;
  }
};

// Quantization by one range, as QuantizeOne of ops/quant_math.h computes it.
template <bool kToEven, Surrogate kSurrogate>
struct ByRange : Bounds<kToEven, kSurrogate> {
  using Bounds<kToEven, kSurrogate>::n;
  using Bounds<kToEven, kSurrogate>::lowest;
  using Bounds<kToEven, kSurrogate>::IsInside;
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
  // What the step has of the gradient of the element.
  float StepTerm(float x) const {
    const float u = x * inverse_step;
    const float code = Code(x);
    const float inside = kSurrogate == Surrogate::kClamp ? 0.0f : code - u;
    return IsInside(u) ? inside : code;
  }
};

// The sums of the terms, each as ParallelSum makes it, while write(begin, end) writes what may lie
// where the terms are read. Memory is gone through once: in blocks that stay in the first cache.
template <typename Write, typename... Terms>
std::array<double, sizeof...(Terms)> SumAndWrite(int64_t size, Write write, Terms... terms) {
  constexpr int64_t kBlock = 1024;
  constexpr int kBytesOfEach = 12;
  constexpr size_t kTerms = sizeof...(Terms);
  double of_pieces[kTerms][kMostPieces];
  ForEachPiece(size, kBytesOfEach,
               [=, of_pieces = &of_pieces[0]](int64_t piece, int64_t piece_begin, int64_t end) {
                 double lanes[kTerms][kFoldLanes] = {};
                 for (int64_t begin = piece_begin; begin < end; begin += kBlock) {
                   const int64_t count = std::min(kBlock, end - begin);
                   size_t term = 0;
                   (FoldIntoLanes<LaneAdd>(
                        count, [=](int64_t i) { return terms(begin + i); }, lanes[term++]),
                    ...);
                   write(begin, begin + count);
                 }
                 for (size_t term = 0; term < kTerms; ++term) {
                   of_pieces[term][piece] = CombineLanes<LaneAdd>(lanes[term]);
                 }
               });
  std::array<double, kTerms> sums;
  for (size_t term = 0; term < kTerms; ++term) {
    sums[term] = CombinePieces<LaneAdd>(size, of_pieces[term]);
  }
  return sums;
}

// Calls f(start, size) with each run of elements of a channel that lie one after the other.
template <typename F>
inline void ForEachRun(const Channels& channels, int64_t channel, F f) {
  for (int64_t o = 0; o < channels.outer; ++o) {
    f((o * channels.count + channel) * channels.inner, channels.inner);
  }
}

template <bool kToEven, Surrogate kSurrogate>
void Backward(const CodeRange& rule, const Channels& channels, const float* x, const float* ranges,
              const float* dy, float* dx, float* dranges) {
  using By = ByRange<kToEven, kSurrogate>;
  const auto by_range_of = [=, n = static_cast<float>(rule.largest),
                            smallest = static_cast<float>(rule.smallest)](int64_t channel) {
    const float range = ranges[channel];
    const float inverse = InverseRange(range);
    return By{{n, smallest}, range, n * inverse, n * inverse};
  };
  const auto term_of = [=](const By& by, int64_t start) {
    return [=](int64_t i) { return dy[start + i] * by.StepTerm(x[start + i]); };
  };
  const auto pass = [=](const By& by, int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      dx[i] = by.IsInside(x[i] * by.inverse_step) ? dy[i] : 0.0f;
    }
  };
  if (channels.count == 1) {
    const By by = by_range_of(0);
    const auto [sum] = SumAndWrite(
        channels.size(), [=](int64_t begin, int64_t end) { pass(by, begin, end); }, term_of(by, 0));
    dranges[0] = static_cast<float>(sum / rule.largest);
    return;
  }
  ParallelFor(channels.count, 20 * channels.outer * channels.inner,
              [=, largest = rule.largest](int64_t begin, int64_t end) {
                for (int64_t c = begin; c < end; ++c) {
                  const By by = by_range_of(c);
                  double sum = 0;
                  ForEachRun(channels, c, [=, sum = &sum](int64_t start, int64_t size) {
                    *sum += LaneSum(size, term_of(by, start));
                    pass(by, start, start + size);
                  });
                  dranges[c] = static_cast<float>(sum / largest);
                }
              });
}

template <bool kToEven>
auto BackwardOf(Surrogate surrogate) {
  switch (surrogate) {
    case Surrogate::kClampThenRound:
      return Backward<kToEven, Surrogate::kClampThenRound>;
    case Surrogate::kRoundThenClamp:
      return Backward<kToEven, Surrogate::kRoundThenClamp>;
    case Surrogate::kClamp:
      break;
  }
  return Backward<kToEven, Surrogate::kClamp>;
}

// Quantization by a step and a zero point, as StoredAffineCode of ops/affine_codes.h computes it.
// Codes are less the zero point.
template <bool kToEven, Surrogate kSurrogate>
struct ByStep : Bounds<kToEven, kSurrogate> {
  using Bounds<kToEven, kSurrogate>::n;
  using Bounds<kToEven, kSurrogate>::lowest;
  using Bounds<kToEven, kSurrogate>::IsInside;
  float inverse_step;

  // What the step has of the gradient of the element.
  float StepTerm(float x) const {
    const float u = x * inverse_step;
    const float inside = kSurrogate == Surrogate::kClamp ? 0.0f : Rounded<kToEven>(u) - u;
    const float clamped = u > 0 ? n : lowest;
    const float outside = u == u ? clamped : 0.0f;
    return IsInside(u) ? inside : outside;
  }
};

template <bool kToEven, Surrogate kSurrogate>
AffineGradient BackwardByStep(const CodeRange& rule, const AffineParams& params, int64_t size,
                              const float* x, const float* dy, float* dx) {
  const ByStep<kToEven, kSurrogate> by = {{static_cast<float>(rule.largest) - params.zero_point,
                                           static_cast<float>(rule.smallest) - params.zero_point},
                                          1 / params.step};
  const auto pass = [=](int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      dx[i] = by.IsInside(x[i] * by.inverse_step) ? dy[i] : 0.0f;
    }
  };
  const auto [of_step, outside] = SumAndWrite(
      size, pass, [=](int64_t i) { return dy[i] * by.StepTerm(x[i]); },
      [=](int64_t i) {
        const float gradient = dy[i];
        return by.IsInside(x[i] * by.inverse_step) ? 0.0f : gradient;
      });
  return {static_cast<float>(of_step), static_cast<float>(-outside * params.step)};
}

template <bool kToEven>
auto BackwardByStepOf(Surrogate surrogate) {
  switch (surrogate) {
    case Surrogate::kClampThenRound:
      return BackwardByStep<kToEven, Surrogate::kClampThenRound>;
    case Surrogate::kRoundThenClamp:
      return BackwardByStep<kToEven, Surrogate::kRoundThenClamp>;
    case Surrogate::kClamp:
      break;
  }
  return BackwardByStep<kToEven, Surrogate::kClamp>;
}

}  // namespace

void RangeBackward(const CodeRange& rule, Surrogate surrogate, const Channels& channels,
                   absl::Span<const float> x, absl::Span<const float> ranges,
                   absl::Span<const float> dy, absl::Span<float> dx, absl::Span<float> dranges) {
  const auto backward = rule.rounding == QuantSpec::HALF_TO_EVEN ? BackwardOf<true>(surrogate)
                                                                 : BackwardOf<false>(surrogate);
  backward(rule, channels, x.data(), ranges.data(), dy.data(), dx.data(), dranges.data());
}

AffineGradient AffineBackward(const CodeRange& rule, Surrogate surrogate,
                              const AffineParams& params, absl::Span<const float> x,
                              absl::Span<const float> dy, absl::Span<float> dx) {
  const auto backward = rule.rounding == QuantSpec::HALF_TO_EVEN
                            ? BackwardByStepOf<true>(surrogate)
                            : BackwardByStepOf<false>(surrogate);
  return backward(rule, params, static_cast<int64_t>(x.size()), x.data(), dy.data(), dx.data());
}

}  // namespace fixpoint::kernels
