#include "runtime/statistics/bit_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace fixpoint {
namespace {

using Bin = BitHistogram::Bin;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Normal(size_t count, float deviation, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

BitHistogram HistogramOf(const std::vector<float>& values) {
  BitHistogram histogram;
  histogram.Add(values);
  return histogram;
}

void ExpectEqual(const BitHistogram& a, const BitHistogram& b) {
  EXPECT_EQ(a.positive(), b.positive());
  EXPECT_EQ(a.negative(), b.negative());
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
  EXPECT_EQ(a.nan_count(), b.nan_count());
  EXPECT_EQ(a.infinite_count(), b.infinite_count());
}

// Each batch twice as large as the one before: other tools' histograms widen or rebin here.
TEST(BitHistogram, IsTheSameForAnyOrderOfBatchesAndMerges) {
  std::vector<std::vector<float>> batches;
  for (int i = 0; i < 10; ++i) batches.push_back(Normal(1000, std::ldexp(1.0f, i), i));
  batches[3][5] = NAN;
  batches[4][6] = -kInfinity;
  BitHistogram forward;
  BitHistogram backward;
  BitHistogram odd;
  BitHistogram even;
  for (size_t i = 0; i < batches.size(); ++i) {
    forward.Add(batches[i]);
    backward.Add(batches[batches.size() - 1 - i]);
    (i % 2 == 0 ? even : odd).Add(batches[i]);
  }
  odd.Merge(even);
  odd.Merge(BitHistogram());
  ExpectEqual(backward, forward);
  ExpectEqual(odd, forward);
  EXPECT_EQ(forward.count(), 9998);
  EXPECT_EQ(forward.nan_count(), 1);
  EXPECT_EQ(forward.infinite_count(), 1);
}

TEST(BitHistogram, LeavesOutWhatIsNotFinite) {
  const BitHistogram histogram = HistogramOf({NAN, 1, -2, kInfinity, -kInfinity, 3, -NAN});
  EXPECT_EQ(histogram.count(), 3);
  EXPECT_EQ(histogram.min(), -2);
  EXPECT_EQ(histogram.max(), 3);
  EXPECT_EQ(histogram.nan_count(), 2);
  EXPECT_EQ(histogram.infinite_count(), 2);
  EXPECT_EQ(histogram.Bins().size(), 3);
  const BitHistogram nothing = HistogramOf({NAN, kInfinity});
  EXPECT_EQ(nothing.count(), 0);
  EXPECT_EQ(nothing.min(), 0);
  EXPECT_EQ(nothing.max(), 0);
  EXPECT_TRUE(nothing.Bins().empty());
}

TEST(BitHistogram, HasBinsInTheOrderOfTheirValues) {
  const std::vector<float> values = Normal(5000, 3);
  const BitHistogram histogram = HistogramOf(values);
  const std::vector<Bin> bins = histogram.Bins();
  EXPECT_EQ(bins.front().low, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(bins.back().high, *std::max_element(values.begin(), values.end()));
  for (size_t i = 0; i < bins.size(); ++i) {
    const auto [low, high, count] = bins[i];
    EXPECT_LE(high - low, std::max(std::fabs(low), std::fabs(high)) / 32) << i;
    if (i > 0) {
      EXPECT_LE(bins[i - 1].high, low);
    }
    // An end lies in the bin of larger magnitude, and only a cut end in both.
    const auto is_in = [low = low, high = high](float value) {
      return value < 0 ? value >= low && (value < high || low == high)
                       : value >= low && value < high;
    };
    if (i + 1 == bins.size() || i == 0 || low < 0) continue;
    EXPECT_EQ(std::count_if(values.begin(), values.end(), is_in), count) << low << " " << high;
  }
}

TEST(BitHistogram, HasABinWithoutWidthForAConstantAndForZeros) {
  for (const float constant : {3.0f, -0.7f, 1e30f}) {
    const std::vector<Bin> bins = HistogramOf(std::vector<float>(100, constant)).Bins();
    ASSERT_EQ(bins.size(), 1);
    EXPECT_EQ(bins[0].low, constant);
    EXPECT_EQ(bins[0].high, constant);
    EXPECT_EQ(bins[0].count, 100);
  }
  const BitHistogram zeros = HistogramOf({0.0f, -0.0f, 1e-42f, 0.0f});
  ASSERT_EQ(zeros.Bins().size(), 1);
  EXPECT_EQ(zeros.Bins()[0].count, 4);
  EXPECT_FALSE(std::signbit(HistogramOf({-0.0f}).max()));
}

TEST(BitHistogram, HasMagnitudesOfBothSigns) {
  const BitHistogram histogram = HistogramOf({-2, 2, -2, 0.5, 0, -5});
  const std::vector<Bin> magnitudes = histogram.Magnitudes();
  ASSERT_EQ(magnitudes.size(), 4);
  EXPECT_EQ(magnitudes[0].count, 1);
  EXPECT_EQ(magnitudes[2].low, 2);
  EXPECT_EQ(magnitudes[2].count, 3);
  EXPECT_EQ(magnitudes[3].high, 5) << "cut off at the largest";
  EXPECT_EQ(HistogramOf({-4, -5}).Magnitudes().front().low, 4);
}

TEST(BitHistogram, HasMomentsAndQuantilesOfItsValues) {
  const std::vector<float> values = Normal(100000, 2);
  const BitHistogram histogram = HistogramOf(values);
  const auto [mean, variance] = histogram.FindMoments();
  EXPECT_NEAR(mean, 0, 0.05);
  EXPECT_NEAR(variance, 4, 0.1);
  std::vector<float> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (const double share : {0.001, 0.1, 0.6, 0.999}) {
    const double exact = sorted[static_cast<size_t>(std::ceil(share * 100000)) - 1];
    const double quantile = histogram.Quantile(share);
    EXPECT_GE(quantile, exact);
    EXPECT_LE(quantile - exact, std::fabs(exact) / 31) << share;
  }
  EXPECT_EQ(histogram.Quantile(1), histogram.max());
  EXPECT_EQ(BitHistogram().Quantile(0.5), 0);
  const auto [mean_of_constant, variance_of_constant] = HistogramOf({3, 3, 3}).FindMoments();
  EXPECT_EQ(mean_of_constant, 3);
  EXPECT_EQ(variance_of_constant, 0);
}

TEST(BitHistogram, IsMadeAgainFromItsCounts) {
  const BitHistogram histogram = HistogramOf(Normal(1000, 1));
  ExpectEqual(BitHistogram::Of(histogram.positive(), histogram.negative(), histogram.min(),
                               histogram.max(), 0),
              histogram);
  const BitHistogram edited =
      BitHistogram::Of(histogram.positive(), histogram.negative(), -100, 100, 0);
  EXPECT_GE(edited.min(), histogram.min() * (1 + 1.0f / 16));
  EXPECT_LE(edited.max(), histogram.max() * (1 + 1.0f / 16));
}

}  // namespace
}  // namespace fixpoint
