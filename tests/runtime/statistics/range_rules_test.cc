// The rules beside plain loops over the values or, where a rule is defined on a histogram, over its
// bins; and what misleads such rules elsewhere.

#include "runtime/statistics/range_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ops/affine_codes.h"
#include "ops/code_range.h"
#include "ops/quant_math.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {
namespace {

struct Sample {
  std::string name;
  std::vector<float> values;
};

std::vector<float> Normal(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> Relu(std::vector<float> values) {
  for (float& value : values) value = std::max(value, 0.0f);
  return values;
}

std::vector<float> WithOutlier(std::vector<float> values) {
  values.push_back(200);
  return values;
}

std::vector<float> Skewed(std::vector<float> values) {
  for (float& value : values) value = value > 0 ? value * value : 0.2f * value;
  return values;
}

std::vector<Sample> Samples() {
  const std::vector<float> normal = Normal(20000);
  return {{"normal", normal},
          {"relu", Relu(normal)},
          {"outlier", WithOutlier(normal)},
          {"skewed", Skewed(normal)}};
}

BitHistogram HistogramOf(const std::vector<float>& values) {
  BitHistogram histogram;
  histogram.Add(values);
  return histogram;
}

QuantSpec Spec(QuantSpec::RangeRule rule, QuantSpec::Scheme scheme = QuantSpec::SYMMETRIC,
               int bits = 8) {
  QuantSpec spec;
  spec.set_range_rule(rule);
  spec.set_scheme(scheme);
  spec.set_bits(bits);
  spec.set_signedness(scheme == QuantSpec::AFFINE ? QuantSpec::UNSIGNED : QuantSpec::SIGNED);
  spec.set_rounding(QuantSpec::HALF_TO_EVEN);
  return spec;
}

constexpr QuantSpec::RangeRule kRules[] = {QuantSpec::MIN_MAX, QuantSpec::PERCENTILE,
                                           QuantSpec::MSE, QuantSpec::KL};
constexpr QuantSpec::Scheme kSchemes[] = {QuantSpec::SYMMETRIC, QuantSpec::AFFINE};

float EndOf(const ValueRange& range) { return std::max(-range.min, range.max); }

// The mean squared error of the floats that the codes stand for, value by value.
double MeanSquaredError(const std::vector<float>& values, const ValueRange& range,
                        const RangeCoding& coding) {
  const AffineParams params =
      AffineParamsOf(std::min(range.min, 0.0f), std::max(range.max, 0.0f), coding.codes);
  double sum = 0;
  for (const float x : values) {
    const float coded =
        coding.scheme == QuantSpec::AFFINE
            ? (AffineCode(x, params, coding.codes) - params.zero_point) * params.step
            : DequantizeOne(QuantizeOne(x, EndOf(range), coding.codes), EndOf(range),
                            coding.codes.largest);
    sum += (static_cast<double>(coded) - x) * (static_cast<double>(coded) - x);
  }
  return sum / static_cast<double>(values.size());
}

TEST(RangeRules, AreMinAndMax) {
  EXPECT_EQ(MinMaxRange(HistogramOf({1, -2, 5, 0})), (ValueRange{-2, 5}));
}

TEST(RangeRules, APercentileHasThatManyValuesAndHardlyMore) {
  for (const auto& [name, values] : Samples()) {
    for (const double percent : {90.0, 99.0, 99.99, 100.0}) {
      const double most = (1 - percent / 100) * static_cast<double>(values.size()) + 1e-6;
      const BitHistogram histogram = HistogramOf(values);
      const float end = EndOf(PercentileRange(histogram, QuantSpec::SYMMETRIC, percent));
      const auto beyond = [&values = values](float above, float below) {
        return static_cast<double>(std::count_if(values.begin(), values.end(),
                                                 [=](float x) { return x > above || x < below; }));
      };
      EXPECT_LE(beyond(end, -end), most) << name << " " << percent;
      EXPECT_GE(beyond(end * 31 / 32 - 1e-6f, -end * 31 / 32 + 1e-6f), most - 1) << name;

      const auto [min, max] = PercentileRange(histogram, QuantSpec::AFFINE, percent);
      EXPECT_LE(beyond(max, -1e30f), most / 2) << name << " " << percent;
      EXPECT_LE(beyond(1e30f, min), most / 2) << name << " " << percent;
      EXPECT_GE(beyond(max * 31 / 32 - 1e-6f, -1e30f), most / 2 - 1) << name;
    }
  }
}

TEST(RangeRules, MseIsAsGoodAsTheBestOfAFineGrid) {
  for (const auto& [name, values] : Samples()) {
    const BitHistogram histogram = HistogramOf(values);
    for (const QuantSpec::Scheme scheme : kSchemes) {
      for (const int bits : {4, 8}) {
        const RangeCoding coding = CodingOf(Spec(QuantSpec::MSE, scheme, bits));
        const ValueRange whole = MinMaxRange(histogram);
        double best = std::numeric_limits<double>::infinity();
        for (int k = 1; k <= 60; ++k) {
          const float high = EndOf(whole) * static_cast<float>(k * k) / 3600;
          if (scheme == QuantSpec::SYMMETRIC) {
            best = std::min(best, MeanSquaredError(values, {-high, high}, coding));
            continue;
          }
          for (const float share : {0.1f, 0.3f, 0.6f, 0.8f, 1.0f}) {
            best = std::min(best, MeanSquaredError(values, {whole.min * share, high}, coding));
          }
        }
        const ValueRange chosen = MseRange(histogram, coding);
        EXPECT_LE(MeanSquaredError(values, chosen, coding), 1.01 * best)
            << name << ", " << bits << " bits, " << QuantSpec::Scheme_Name(scheme) << ": "
            << chosen.min << " to " << chosen.max;
      }
    }
  }
}

TEST(RangeRules, TheErrorOfARangeIsThatOfItsValues) {
  for (const auto& [name, values] : Samples()) {
    const BitHistogram histogram = HistogramOf(values);
    for (const QuantSpec::Scheme scheme : kSchemes) {
      const RangeCoding coding = CodingOf(Spec(QuantSpec::MSE, scheme));
      for (const float end : {0.5f, 2.0f, 3.0f}) {
        const ValueRange range = {std::max(-end, histogram.min()), end};
        const RangeError error = FindRangeError(histogram, range, coding);
        const double exact = MeanSquaredError(values, range, coding);
        EXPECT_NEAR(error.mean_squared, exact, 0.02 * exact) << name << " " << end;
        const auto clipped = std::count_if(values.begin(), values.end(),
                                           [&](float x) { return x > range.max || x < range.min; });
        EXPECT_NEAR(error.clipped,
                    static_cast<double>(clipped) / static_cast<double>(values.size()), 0.005)
            << name << " " << end;
      }
    }
  }
}

// Over the same 2048 bins as KlRange, up to `end`, with P and Q written out for each candidate;
// then more closely, where the smallest candidate is the best.
double KlThresholdByTheBook(const BitHistogram& histogram, int codes, double end) {
  constexpr int kBins = 2048;
  const std::vector<BitHistogram::Bin> magnitudes = histogram.Magnitudes();
  const double width = end / kBins;
  double rest = 0;
  std::vector<double> counts(kBins);
  for (const auto& [low, high, count] : magnitudes) {
    if (high == 0) continue;
    rest += static_cast<double>(count);
    for (int i = 0; i < kBins; ++i) {
      const double begin = std::max(low, i * width);
      const double until = std::min(high, (i + 1) * width);
      if (low < high) counts[i] += std::max(0.0, until - begin) / (high - low) * count;
    }
    if (low == high && low <= end) {
      counts[std::min(static_cast<int>(low / width), kBins - 1)] += count;
    }
  }
  for (const double count : counts) rest -= count;
  double least = std::numeric_limits<double>::infinity();
  int best = kBins;
  for (int i = codes; i <= kBins; ++i) {
    std::vector<double> p(counts.begin(), counts.begin() + i);
    for (int j = i; j < kBins; ++j) p[i - 1] += counts[j];
    p[i - 1] += rest;
    std::vector<double> q(i);
    for (int code = 0; code < codes; ++code) {
      double sum = 0;
      int filled = 0;
      for (int j = code * i / codes; j < (code + 1) * i / codes; ++j) {
        sum += counts[j];
        filled += counts[j] > 0 ? 1 : 0;
      }
      for (int j = code * i / codes; j < (code + 1) * i / codes; ++j) {
        if (counts[j] > 0) q[j] = sum / filled;
      }
    }
    double p_total = 0;
    double q_total = 0;
    for (int j = 0; j < i; ++j) {
      p_total += p[j];
      q_total += q[j];
    }
    double divergence = 0;
    for (int j = 0; j < i; ++j) {
      if (q[j] == 0) q[j] = 1e-4;
      if (p[j] > 0) divergence += p[j] / p_total * std::log(p[j] / p_total / (q[j] / q_total));
    }
    if (divergence <= least + 1e-12) {
      least = divergence;
      best = i;
    }
  }
  if (best == codes && 2 * codes * width < end) {
    return KlThresholdByTheBook(histogram, codes, 2 * codes * width);
  }
  return std::min((best + 0.5) * width, magnitudes.back().high);
}

TEST(RangeRules, KlIsTheDivergenceWrittenOut) {
  for (const auto& [name, values] : Samples()) {
    const BitHistogram histogram = HistogramOf(values);
    for (const int bits : {4, 8}) {
      const RangeCoding coding = CodingOf(Spec(QuantSpec::KL, QuantSpec::SYMMETRIC, bits));
      EXPECT_NEAR(
          EndOf(KlRange(histogram, coding)),
          KlThresholdByTheBook(histogram, coding.codes.largest + 1, EndOf(MinMaxRange(histogram))),
          1e-6 * EndOf(MinMaxRange(histogram)))
          << name << ", " << bits << " bits";
    }
  }
}

TEST(RangeRules, OneOutlierIsClippedByAllButMinAndMax) {
  const BitHistogram histogram = HistogramOf(WithOutlier(Normal(1000000)));
  EXPECT_EQ(EndOf(RangeByRule(histogram, Spec(QuantSpec::MIN_MAX))), 200);
  EXPECT_NEAR(EndOf(RangeByRule(histogram, Spec(QuantSpec::PERCENTILE))), 3.9, 0.2);
  EXPECT_LT(EndOf(RangeByRule(histogram, Spec(QuantSpec::KL))), 20);
  // Clipping it costs about (200 - t)^2 / 1e6, and a step of t / 127 t^2 / (12 * 127^2).
  EXPECT_NEAR(EndOf(RangeByRule(histogram, Spec(QuantSpec::MSE))), 32.4, 1.5);
}

TEST(RangeRules, ZerosOfAReluDoNotMoveKl) {
  std::vector<float> values = Relu(Normal(10000));
  const BitHistogram with_zeros = HistogramOf(values);
  values.erase(std::remove(values.begin(), values.end(), 0.0f), values.end());
  const QuantSpec spec = Spec(QuantSpec::KL);
  EXPECT_EQ(RangeByRule(with_zeros, spec).max, RangeByRule(HistogramOf(values), spec).max);
}

TEST(RangeRules, OfNothingAndOfZerosAreZero) {
  for (const QuantSpec::RangeRule rule : kRules) {
    for (const QuantSpec::Scheme scheme : kSchemes) {
      const QuantSpec spec = Spec(rule, scheme);
      EXPECT_EQ(RangeByRule(BitHistogram(), spec), ValueRange());
      const BitHistogram zeros = HistogramOf({0, 0, 0});
      EXPECT_EQ(RangeByRule(zeros, spec), ValueRange());
      const RangeError error = FindRangeError(zeros, ValueRange(), CodingOf(spec));
      EXPECT_EQ(error.mean_squared, 0);
      EXPECT_EQ(error.clipped, 0);
    }
  }
}

TEST(RangeRules, OfAConstantAndOfOneValueHoldIt) {
  for (const QuantSpec::RangeRule rule : kRules) {
    for (const QuantSpec::Scheme scheme : kSchemes) {
      for (const float constant : {3.0f, 1e-20f, -0.7f, 1e30f}) {
        for (const size_t count : {1, 1000}) {
          const BitHistogram histogram = HistogramOf(std::vector<float>(count, constant));
          const ValueRange range = RangeByRule(histogram, Spec(rule, scheme));
          EXPECT_EQ(EndOf(range), std::fabs(constant))
              << QuantSpec::RangeRule_Name(rule) << " of " << constant;
        }
      }
    }
  }
}

TEST(RangeRules, KlKeepsTheWholeRangeForMoreCodesThanBins) {
  const BitHistogram histogram = HistogramOf(Normal(1000));
  EXPECT_EQ(RangeByRule(histogram, Spec(QuantSpec::KL, QuantSpec::SYMMETRIC, 16)),
            MinMaxRange(histogram));
}

}  // namespace
}  // namespace fixpoint
