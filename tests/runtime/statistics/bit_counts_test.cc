#include "runtime/statistics/bit_counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace fixpoint {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(BitCounts, AreThoseOfTheUpperBits) {
  std::mt19937 random(1);
  // More than are counted one by one, and not a multiple of the tables of counters.
  for (const size_t size : {1, 15, 1000, (1 << 16) + 3}) {
    std::vector<float> values(size);
    std::vector<int64_t> expected(2 * kBitBins, 7);
    for (float& value : values) {
      const auto bits = static_cast<uint32_t>(random()) >> (random() % 4 == 0 ? 32 - 20 : 0);
      std::memcpy(&value, &bits, sizeof value);
      ++expected[bits / (1 << 18)];
    }
    std::vector<int64_t> counts(2 * kBitBins, 7);
    CountBits(values, absl::MakeSpan(counts));
    EXPECT_EQ(counts, expected) << size;
  }
}

TEST(BitCounts, NeedNoNegativeBinsForValuesWithoutASign) {
  std::vector<int64_t> counts(kBitBins);
  CountBits({0.0f, 1.0f, 1.03f, 1.04f, kInfinity}, absl::MakeSpan(counts));
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[127 << 5], 2) << "1 and 1.03 are below 1 + 1/32";
  EXPECT_EQ(counts[(127 << 5) + 1], 1);
  EXPECT_EQ(counts[kFirstNonFiniteBin], 1);
}

TEST(BitEnds, AreInTheOrderOfFloats) {
  for (const size_t size : {1, 2, 17, 100}) {
    std::vector<float> values(size, 0.5f);
    values[size / 2] = -3;
    const float last = size == 1 ? -3 : 2.5f;
    if (size > 1) values[size - 1] = last;
    const BitEnds ends = FindBitEnds(values);
    EXPECT_EQ(ends.largest, last);
    EXPECT_EQ(ends.smallest, size == 2 ? 0.5f : -3);
    EXPECT_TRUE(ends.are_all_finite());
  }
  EXPECT_TRUE(FindBitEnds({0.0f, -0.0f, 1.0f}).has_sign());
  EXPECT_FALSE(FindBitEnds({0.0f, 1.0f}).has_sign());
  EXPECT_FALSE(FindBitEnds({1.0f, NAN, -1.0f}).are_all_finite());
  EXPECT_FALSE(FindBitEnds({1.0f, -NAN, -1.0f}).are_all_finite());
  EXPECT_FALSE(FindBitEnds({1.0f, -kInfinity}).are_all_finite());
  EXPECT_EQ(FindBitEnds({-kInfinity, kInfinity}).largest, kInfinity);
}

}  // namespace
}  // namespace fixpoint
