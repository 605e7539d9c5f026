// The arithmetic of gemmlowp and TensorFlow Lite, written out as they have it, and its identities.

#include "ops/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace fixpoint {
namespace {

// gemmlowp's SaturatingRoundingDoublingHighMul: its quotient is truncated.
int64_t HighMultiplied(int64_t a, int64_t b) {
  const int64_t product = a * b;
  const int64_t nudge = product >= 0 ? (1 << 30) : 1 - (1 << 30);
  return (product + nudge) / (int64_t{1} << 31);
}

// gemmlowp's RoundingDivideByPOT, by the definition: to the nearest, ties away from zero.
int64_t DividedByPowerOfTwo(int64_t x, int exponent) {
  return std::llround(std::ldexp(static_cast<double>(x), -exponent));
}

// A sum and a number to multiply it with, both of random magnitudes, and with many ties.
class Draws {
 public:
  int64_t Sum() {
    const int bits = std::uniform_int_distribution<>(0, 22)(random_);
    return std::uniform_int_distribution<>(-(2 << bits) + 1, (2 << bits) - 1)(random_);
  }
  double Number() {
    const int exponent = std::uniform_int_distribution<>(-16, 2)(random_);
    const bool is_power = std::uniform_int_distribution<>(0, 3)(random_) == 0;
    const double fraction = std::uniform_real_distribution<>(0.5, 1)(random_);
    return std::ldexp(is_power ? 0.5 : fraction, exponent);
  }

 private:
  std::mt19937 random_{7};
};

constexpr int kDraws = 100'000;

TEST(Requantize, RoundsOnceOrTwiceAsTensorFlowLite) {
  Draws draws;
  int different = 0;
  for (int i = 0; i < kDraws; ++i) {
    const int64_t n = draws.Sum();
    const FixedPointMultiplier by = FixedPointMultiplierOf(draws.Number(), 32);
    const int e = by.exponent;
    const int64_t once = (n * by.multiplier + (int64_t{1} << (30 - e))) >> (31 - e);
    const int64_t shifted = n * (int64_t{1} << std::max(e, 0));
    const int64_t twice =
        DividedByPowerOfTwo(HighMultiplied(shifted, by.multiplier), std::max(-e, 0));
    ASSERT_EQ(Requantize(n, by, 1), once) << n << " * " << by.number();
    ASSERT_EQ(Requantize(n, by, 2), twice) << n << " * " << by.number();
    different += once != twice;
  }
  EXPECT_GT(different, 0);
}

TEST(Requantize, TakesMultipliersOf16BitsAsTheirOwnFormula) {
  Draws draws;
  for (int i = 0; i < kDraws; ++i) {
    const int64_t n = draws.Sum();
    const double number = draws.Number();
    const FixedPointMultiplier wide = FixedPointMultiplierOf(number, 32);
    const FixedPointMultiplier by = FixedPointMultiplierOf(number, 16);
    const int64_t m =
        wide.multiplier >= 0x7fff0000 ? 0x7fff : (int64_t{wide.multiplier} + (1 << 15)) >> 16;
    const int e = by.exponent;
    ASSERT_EQ(by.multiplier, m << 16);
    ASSERT_EQ(Requantize(n, by, 1), (n * m + (int64_t{1} << (14 - e))) >> (15 - e));
  }
}

TEST(Requantize, BreaksTiesUpwardOnceAndAwayFromZeroTwice) {
  const FixedPointMultiplier half = FixedPointMultiplierOf(0.5, 32);
  const FixedPointMultiplier quarter = FixedPointMultiplierOf(0.25, 32);
  EXPECT_EQ(Requantize(-3, half, 1), -1);
  EXPECT_EQ(Requantize(3, half, 1), 2);
  EXPECT_EQ(Requantize(-6, quarter, 1), -1);
  EXPECT_EQ(Requantize(-6, quarter, 2), -2);
  // 5 / 4 is rounded to 3 / 2, and that to 2.
  EXPECT_EQ(Requantize(5, quarter, 1), 1);
  EXPECT_EQ(Requantize(5, quarter, 2), 2);
}

TEST(FixedPointMultiplierOf, HasOneBitBelow31ForEachPowerOfTwo) {
  EXPECT_EQ(FixedPointMultiplierOf(0.75, 32).multiplier, 3 << 29);
  EXPECT_EQ(FixedPointMultiplierOf(0.75, 32).exponent, 0);
  // It would be 2^31.
  EXPECT_EQ(FixedPointMultiplierOf(1 - 0x1p-40, 32).multiplier, 1 << 30);
  EXPECT_EQ(FixedPointMultiplierOf(1 - 0x1p-40, 32).exponent, 1);
  EXPECT_EQ(FixedPointMultiplierOf(1 - 0x1p-20, 16).multiplier, 0x7fff0000);
  EXPECT_EQ(FixedPointMultiplierOf(0x1p-34, 32).multiplier, 0);
  for (const double none : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(FixedPointMultiplierOf(none, 32).multiplier, 0) << none;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(FixedPointMultiplierOf(infinity, 32).number(), 0x1p29);
  EXPECT_EQ(Requantize(-5, FixedPointMultiplierOf(infinity, 32), 2), -5 * (int64_t{1} << 29));
}

TEST(RequantizeFloat, GivesTheBitsOfTheIntegers) {
  Draws draws;
  for (const int bits : {16, 32}) {
    for (int i = 0; i < kDraws; ++i) {
      const int64_t n = draws.Sum();
      const auto sum = static_cast<float>(n);
      const float factor = RequantizationFactor(static_cast<float>(draws.Number()), 1, bits);
      const FixedPointMultiplier by = FixedPointMultiplierOf(factor, 32);
      ASSERT_EQ(RequantizeFloat<1>(sum, factor), static_cast<float>(Requantize(n, by, 1)));
      ASSERT_EQ(RequantizeFloat<2>(sum, factor), static_cast<float>(Requantize(n, by, 2)));
    }
  }
}

TEST(RequantizeFloat, GivesTheBitsOfTheIntegersAtTheEdges) {
  for (const double number :
       {0x1p29, 0x1.fffffep28, 0x1p-32, 0x1p-31, 0x1p-40, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    const FixedPointMultiplier by = FixedPointMultiplierOf(number, 32);
    const auto factor = static_cast<float>(by.number());
    for (const int64_t n :
         {0, 1, -1, 3, -3, (1 << 23) - 1, 1 << 23, (1 << 23) + 2, 1 << 30, -(1 << 30)}) {
      const auto sum = static_cast<float>(n);
      EXPECT_EQ(RequantizeFloat<1>(sum, factor), static_cast<float>(Requantize(n, by, 1)))
          << n << " * " << number;
      EXPECT_EQ(RequantizeFloat<2>(sum, factor), static_cast<float>(Requantize(n, by, 2)))
          << n << " * " << number;
    }
  }
}

TEST(RequantizeFloat, Saturates) {
  const float beyond = 0x1p25f;
  const FixedPointMultiplier by = FixedPointMultiplierOf(0.75, 32);
  EXPECT_EQ(RequantizeFloat<1>(beyond, 0.75f), 0x1.8p22f);
  EXPECT_EQ(Requantize(int64_t{1} << 25, by, 1), 3 << 21);
  EXPECT_EQ(RequantizeFloat<2>(-beyond, 0.0f), 0);
}

// What is stored of a sum in FP32 tells it, whatever its step is.
TEST(SumOf, FindsTheSumInItsProductWithTheStep) {
  Draws draws;
  for (int i = 0; i < kDraws; ++i) {
    const int64_t n = draws.Sum();
    const auto step = static_cast<float>(draws.Number());
    ASSERT_EQ(SumOf(static_cast<float>(n) * step, step), n);
  }
  for (const int64_t n : {int64_t{1} << 23, (int64_t{1} << 23) + 1, int64_t{1} << 30}) {
    EXPECT_EQ(SumOf(static_cast<float>(n) * 0.7f, 0.7f), kLargestRequantizedSum) << n;
    EXPECT_EQ(SumOf(static_cast<float>(-n) * 0.7f, 0.7f), -kLargestRequantizedSum) << n;
  }
  EXPECT_EQ(SumOf(std::numeric_limits<float>::quiet_NaN(), 1), 0);
  EXPECT_EQ(SumOf(1, 0), 0);
}

}  // namespace
}  // namespace fixpoint
