#include "runtime/kernels/bfloat16.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "tests/runtime/kernels/bfloat16_values.h"

namespace fixpoint::kernels {
namespace {

using ::testing::ElementsAre;

std::vector<uint16_t> Bits(const std::vector<Bfloat16>& numbers) {
  std::vector<uint16_t> bits;
  for (const Bfloat16 number : numbers) bits.push_back(static_cast<uint16_t>(number));
  return bits;
}

std::vector<uint16_t> Rounded(const std::vector<float>& x) { return Bits(InBfloat16(x)); }

TEST(Bfloat16, IsRoundedHalfToEven) {
  // 1 + 2^-8 and 1 + 3 * 2^-8 lie between two numbers, and 1 + 2^-8 + 2^-23 above the middle.
  EXPECT_THAT(Rounded({1, -1, 1.00390625f, 1.01171875f, 1.00390637f, -1.01171875f}),
              ElementsAre(0x3f80, 0xbf80, 0x3f80, 0x3f82, 0x3f81, 0xbf82));
}

TEST(Bfloat16, HasZerosInfinitiesAndNan) {
  using Limits = std::numeric_limits<float>;
  EXPECT_THAT(Rounded({0, -0.0f, Limits::infinity(), -Limits::infinity(), Limits::max()}),
              ElementsAre(0, 0x8000, 0x7f80, 0xff80, 0x7f80));
  for (const float nan : {Limits::quiet_NaN(), Limits::signaling_NaN(), -Limits::quiet_NaN()}) {
    EXPECT_GT(Rounded({nan})[0] & 0x7fff, 0x7f80);
  }
}

TEST(Bfloat16, IsRoundedAfterTheFactorOfItsPlace) {
  std::vector<float> x(3 * 41);
  std::vector<float> factors(41);
  std::vector<float> products(x.size());
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = 0.1f * static_cast<float>(i) - 1;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 0.37f * static_cast<float>(i);
    products[i] = x[i] * factors[i % factors.size()];
  }
  std::vector<Bfloat16> rounded(x.size());
  RoundToBfloat16(x, factors, absl::MakeSpan(rounded));
  EXPECT_EQ(Bits(rounded), Rounded(products));
}

template <typename Code>
void ExpectHeld(int32_t zero_point) {
  std::vector<Code> codes;
  std::vector<float> numbers;
  for (int code = std::numeric_limits<Code>::min(); code <= std::numeric_limits<Code>::max();
       ++code) {
    codes.push_back(static_cast<Code>(code));
    numbers.push_back(static_cast<float>(code - zero_point));
  }
  std::vector<Bfloat16> held(codes.size());
  CodesToBfloat16<Code>(codes, zero_point, absl::MakeSpan(held));
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(ValueOf(held[i]), numbers[i]);
}

TEST(Bfloat16, HoldsEveryCodeOfEightBits) {
  for (const int32_t zero_point : {-128, 0, 127}) ExpectHeld<int8_t>(zero_point);
  for (const int32_t zero_point : {0, 100, 255}) ExpectHeld<uint8_t>(zero_point);
}

}  // namespace
}  // namespace fixpoint::kernels
