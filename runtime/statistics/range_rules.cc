#include "runtime/statistics/range_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ops/affine_codes.h"
#include "runtime/statistics/kl_threshold.h"

namespace fixpoint {
namespace {

using Bin = BitHistogram::Bin;

float LargestMagnitude(const BitHistogram& values) {
  return std::max(std::fabs(values.min()), std::fabs(values.max()));
}

// The floats that codes stand for: multiples of a step, from `low` to `high`.
struct CodedFloats {
  double step;
  double low;
  double high;
};

CodedFloats CodedFloatsOf(const ValueRange& range, const RangeCoding& coding) {
  const auto smallest = static_cast<double>(coding.codes.smallest);
  const auto largest = static_cast<double>(coding.codes.largest);
  if (coding.scheme == QuantSpec::AFFINE) {
    const auto [step, zero_point] =
        AffineParamsOf(std::min(range.min, 0.0f), std::max(range.max, 0.0f), coding.codes);
    return {step, (smallest - zero_point) * step, (largest - zero_point) * step};
  }
  const float end = std::max(std::fabs(range.min), std::fabs(range.max));
  // As computed for a range of 0, which has a code for 0 alone.
  const double step = end > 0 ? end / largest : 1;
  return {step, end > 0 ? smallest * step : 0, end > 0 ? largest * step : 0};
}

// The integral of (v - round(v))^2 from 0 to v.
double RoundingIntegral(double v) {
  const double whole = std::nearbyint(v);
  const double rest = v - whole;
  return whole / 12 + rest * rest * rest / 3;
}

// The integral of the squared error over a bin, divided by its width.
double MeanSquaredError(const Bin& bin, const CodedFloats& coded) {
  const auto cube = [](double x) { return x * x * x; };
  if (bin.low == bin.high) {
    const double rounded = coded.step * std::nearbyint(bin.low / coded.step);
    const double error = std::clamp(rounded, coded.low, coded.high) - bin.low;
    return error * error;
  }
  double sum = 0;
  if (bin.low < coded.low) {
    sum += (cube(coded.low - bin.low) - cube(coded.low - std::min(bin.high, coded.low))) / 3;
  }
  if (bin.high > coded.high) {
    sum += (cube(bin.high - coded.high) - cube(std::max(bin.low, coded.high) - coded.high)) / 3;
  }
  const double low = std::max(bin.low, coded.low);
  const double high = std::min(bin.high, coded.high);
  if (low < high) {
    sum += cube(coded.step) *
           (RoundingIntegral(high / coded.step) - RoundingIntegral(low / coded.step));
  }
  return sum / (bin.high - bin.low);
}

double MeanSquaredError(absl::Span<const Bin> bins, int64_t count, const ValueRange& range,
                        const RangeCoding& coding) {
  const CodedFloats coded = CodedFloatsOf(range, coding);
  double sum = 0;
  for (const Bin& bin : bins) {
    sum += static_cast<double>(bin.count) * MeanSquaredError(bin, coded);
  }
  return sum / static_cast<double>(count);
}

// The ends that MseRange compares, the widest first.
constexpr int kEnds = 400;
constexpr int kEndsOfPairs = 32;
double ShareOfEnd(int k, int ends = kEnds) {
  const double root = static_cast<double>(k) / ends;
  return root * root;
}

// The share of a bin that is above `low`, and that is below `high`.
double ShareAbove(const Bin& bin, double low) {
  if (bin.low == bin.high) return bin.low > low ? 1 : 0;
  return std::clamp((bin.high - low) / (bin.high - bin.low), 0.0, 1.0);
}
double ShareBelow(const Bin& bin, double high) {
  return ShareAbove({-bin.high, -bin.low, bin.count}, -high);
}

}  // namespace

RangeCoding CodingOf(const QuantSpec& spec) { return {CodeRangeOf(spec), spec.scheme()}; }

ValueRange RangeWithin(const BitHistogram& values, double threshold) {
  const auto held = static_cast<float>(threshold);
  return {std::max(values.min(), -held), std::min(values.max(), held)};
}

ValueRange MinMaxRange(const BitHistogram& values) { return {values.min(), values.max()}; }

ValueRange PercentileRange(const BitHistogram& values, QuantSpec::Scheme scheme, double percent) {
  const double share = percent / 100;
  if (scheme == QuantSpec::SYMMETRIC) {
    return RangeWithin(values, QuantileOf(values.Magnitudes(), values.count(), share));
  }
  std::vector<Bin> bins = values.Bins();
  const double share_of_side = 1 - (1 - share) / 2;
  const double max = QuantileOf(bins, values.count(), share_of_side);
  std::reverse(bins.begin(), bins.end());
  for (Bin& bin : bins) bin = {-bin.high, -bin.low, bin.count};
  const double min = -QuantileOf(bins, values.count(), share_of_side);
  return {static_cast<float>(min), static_cast<float>(max)};
}

ValueRange MseRange(const BitHistogram& values, const RangeCoding& coding) {
  const std::vector<Bin> bins = values.Bins();
  ValueRange best = MinMaxRange(values);
  if (LargestMagnitude(values) == 0) return best;
  double least = MeanSquaredError(bins, values.count(), best, coding);
  // Whether a range is better than the best, which it then becomes.
  const auto improves = [&](const ValueRange& range) {
    const double error = MeanSquaredError(bins, values.count(), range, coding);
    if (error >= least) return false;
    least = error;
    best = range;
    return true;
  };
  if (coding.scheme == QuantSpec::SYMMETRIC) {
    for (int k = kEnds; k > 0; --k) {
      improves(RangeWithin(values, ShareOfEnd(k) * LargestMagnitude(values)));
    }
    return best;
  }
  const auto end = [](double share, float of) { return static_cast<float>(share * of); };
  for (int k = kEndsOfPairs; k > 0; --k) {
    for (int l = kEndsOfPairs; l > 0; --l) {
      improves({end(ShareOfEnd(k, kEndsOfPairs), values.min()),
                end(ShareOfEnd(l, kEndsOfPairs), values.max())});
    }
  }
  // Each turn lowers the error; few are needed, because the ends hardly depend on each other.
  constexpr int kMostTurns = 8;
  bool has_improved = true;
  for (int turn = 0; turn < kMostTurns && has_improved; ++turn) {
    has_improved = false;
    for (int k = kEnds; k > 0; --k) {
      if (improves({best.min, end(ShareOfEnd(k), values.max())})) has_improved = true;
    }
    for (int k = kEnds; k > 0; --k) {
      if (improves({end(ShareOfEnd(k), values.min()), best.max})) has_improved = true;
    }
  }
  return best;
}

ValueRange KlRange(const BitHistogram& values, const RangeCoding& coding) {
  const bool has_both_signs = values.min() < 0 && values.max() > 0;
  const int codes = coding.codes.largest - coding.codes.smallest + 1;
  const int codes_of_sign = coding.scheme == QuantSpec::SYMMETRIC ? coding.codes.largest + 1
                            : has_both_signs                      ? codes / 2
                                                                  : codes;
  const std::optional<double> threshold = KlThreshold(values.Magnitudes(), codes_of_sign);
  return threshold ? RangeWithin(values, *threshold) : MinMaxRange(values);
}

ValueRange RangeByRule(const BitHistogram& values, const QuantSpec& spec,
                       const RangeCoding& coding) {
  switch (spec.range_rule()) {
    case QuantSpec::MIN_MAX:
    case QuantSpec::MOVING_AVERAGE:
      break;
    case QuantSpec::PERCENTILE:
      return PercentileRange(values, coding.scheme, spec.percentile());
    case QuantSpec::MSE:
      return MseRange(values, coding);
    case QuantSpec::KL:
      return KlRange(values, coding);
  }
  return MinMaxRange(values);
}

RangeError FindRangeError(const BitHistogram& values, const ValueRange& range,
                          const RangeCoding& coding) {
  if (values.count() == 0) return {};
  const std::vector<Bin> bins = values.Bins();
  RangeError error;
  error.mean_squared = MeanSquaredError(bins, values.count(), range, coding);
  for (const Bin& bin : bins) {
    error.clipped +=
        static_cast<double>(bin.count) * (ShareAbove(bin, range.max) + ShareBelow(bin, range.min));
  }
  error.clipped /= static_cast<double>(values.count());
  return error;
}

double SignalToNoise(const BitHistogram& values, const RangeError& error) {
  if (error.mean_squared == 0) return std::numeric_limits<double>::infinity();
  const auto [mean, variance] = values.FindMoments();
  return 10 * std::log10((mean * mean + variance) / error.mean_squared);
}

}  // namespace fixpoint
