// The random numbers that kernels draw.

#include "runtime/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

// Known answers of the generator's authors (Random123, kat_vectors).
TEST(Philox4x32, IsThatOfItsAuthors) {
  EXPECT_THAT(Philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(
      Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(
      Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RandomStream, UniformNumbersAreTheWordsOfTheBlocks) {
  const RandomStream random(0, 0, 0);
  EXPECT_EQ(random.Uniform(0), (0x6627e8d5 >> 8) * 0x1p-24);
  EXPECT_EQ(random.Uniform(3), (0x9b00dbd8 >> 8) * 0x1p-24);
  EXPECT_NE(random.Uniform(4), random.Uniform(0));
}

TEST(RandomStream, SeedOpAndStepTellStreamsApart) {
  const double number = RandomStream(1, 2, 3).Uniform(0);
  EXPECT_EQ(RandomStream(1, 2, 3).Uniform(0), number);
  EXPECT_NE(RandomStream(2, 2, 3).Uniform(0), number);
  EXPECT_NE(RandomStream(uint64_t{1} << 32 | 1, 2, 3).Uniform(0), number);
  EXPECT_NE(RandomStream(1, 3, 3).Uniform(0), number);
  EXPECT_NE(RandomStream(1, 2, 4).Uniform(0), number);
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <typename Draw>
Moments MomentsOf(Draw draw) {
  constexpr int kCount = 100000;
  Moments moments;
  for (int i = 0; i < kCount; ++i) {
    moments.mean += draw(i) / kCount;
    moments.variance += draw(i) * draw(i) / kCount;
  }
  moments.variance -= moments.mean * moments.mean;
  return moments;
}

// The mean of 100000 numbers is off by less than 5 standard errors, here below 0.016 for each.
TEST(RandomStream, DistributionsHaveTheirMoments) {
  const RandomStream random(7, 0, 0);
  const Moments uniform = MomentsOf([&](int i) { return random.Uniform(i); });
  EXPECT_NEAR(uniform.mean, 0.5, 0.005);
  EXPECT_NEAR(uniform.variance, 1.0 / 12, 0.005);
  const Moments normal = MomentsOf([&](int i) { return random.Normal(i); });
  EXPECT_NEAR(normal.mean, 0, 0.016);
  EXPECT_NEAR(normal.variance, 1, 0.03);
  const Moments truncated = MomentsOf([&](int i) { return random.TruncatedNormal(i); });
  EXPECT_NEAR(truncated.mean, 0, 0.016);
  EXPECT_NEAR(truncated.variance, 0.7737, 0.03);
}

TEST(RandomStream, TruncatedNumbersAreWithinTwoDeviations) {
  const RandomStream random(7, 0, 0);
  bool some_normal_is_not = false;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(std::fabs(random.TruncatedNormal(i)), 2);
    some_normal_is_not |= std::fabs(random.Normal(i)) > 2;
  }
  EXPECT_TRUE(some_normal_is_not);
}

}  // namespace
}  // namespace fixpoint
