#include "ops/sums_of_codes.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "absl/status/status.h"
#include "ops/bias_codes.h"

namespace fixpoint {
namespace {

SumOfProducts Of(int64_t products, bool is_unsigned) {
  SumOfProducts sum;
  sum.products = products;
  sum.is_unsigned = is_unsigned;
  return sum;
}

// The most products whose sum fits, of a sum of that kind.
int64_t MostThatFit(SumOfProducts sum) {
  sum.products = 1;
  while (SumsFit(sum)) sum.products *= 2;
  int64_t fit = sum.products / 2;
  for (int64_t step = fit / 2; step > 0; step /= 2) {
    sum.products = fit + step;
    if (SumsFit(sum)) fit += step;
  }
  return fit;
}

TEST(SumsOfCodes, FitAsLongAs32BitsHoldTheLargest) {
  EXPECT_EQ(MostThatFit(Of(0, true)), INT32_MAX / (255 * 128));
  EXPECT_EQ(MostThatFit(Of(0, false)), INT32_MAX / (128 * 128));
  EXPECT_TRUE(SumsFit(INT32_MAX / 255, 255));
  EXPECT_FALSE(SumsFit(INT32_MAX / 255 + 1, 255));
}

TEST(SumsOfCodes, HaveRoomForProductsWithTheZeroPoint) {
  SumOfProducts sum = Of(0, false);
  sum.has_zero_point = true;
  EXPECT_EQ(MostThatFit(sum), INT32_MAX / (2 * 255 * 128));
}

TEST(SumsOfCodes, HaveRoomForTheirBias) {
  SumOfProducts sum = Of(0, true);
  sum.has_bias = true;
  EXPECT_EQ(MostThatFit(sum), 32896);
  sum.products = 32896;
  EXPECT_LT(sum.largest() + kLargestBiasCode, int64_t{INT32_MAX});
  sum.is_unsigned = false;
  EXPECT_EQ(MostThatFit(sum), 65535);
}

TEST(SumsOfCodes, AreLargerOfWeightsWithZeroPoints) {
  SumOfProducts sum = Of(100, true);
  sum.has_weight_zero_points = true;
  EXPECT_EQ(sum.largest(), 100 * 255 * 255);
  EXPECT_EQ(sum.largest_bias(), INT32_MAX - 100 * 255 * 255);
  EXPECT_EQ(MostThatFit(sum), 33025);
  sum.is_unsigned = false;
  EXPECT_EQ(MostThatFit(sum), 65793);
}

TEST(BiasCodes, AreIntegersThatFloatsHold) {
  for (const int32_t code : {0, -5, 1 << 24, (1 << 24) + 2, kLargestBiasCode, -kLargestBiasCode}) {
    EXPECT_TRUE(CheckBiasCode(code, "a bias is").ok()) << code;
  }
  EXPECT_EQ(CheckBiasCode((1 << 24) + 1, "a bias is"),
            absl::InvalidArgumentError("a bias is 16777217; want -1073741824 to 1073741824, of the "
                                       "integers that FP32 holds"));
  for (const int32_t code : {INT32_MAX, INT32_MIN, -kLargestBiasCode - 128}) {
    EXPECT_FALSE(IsBiasCode(code)) << code;
  }
}

}  // namespace
}  // namespace fixpoint
