// The loops against ops/quant_math.h: every tie of every width, bit for bit.

#include "runtime/kernels/fake_quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "ops/quant_math.h"

namespace fixpoint::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const QuantSpec::Rounding kRoundings[] = {QuantSpec::HALF_TO_EVEN, QuantSpec::HALF_AWAY_FROM_ZERO};

// Values around each tie between two codes, beyond the range, and NaN.
std::vector<float> Values(float range, int32_t largest_code) {
  std::vector<float> values = {0.0f, -0.0f, kInfinity, -kInfinity, kNan, 1e38f, -1e38f, 1e-45f};
  for (int32_t half = -2 * largest_code - 5; half <= 2 * largest_code + 5; ++half) {
    float x = static_cast<float>(half) / 2 * range / static_cast<float>(largest_code);
    x = std::nextafter(std::nextafter(x, -kInfinity), -kInfinity);
    for (int i = 0; i < 5; ++i, x = std::nextafter(x, kInfinity)) values.push_back(x);
  }
  return values;
}

void ExpectSame(float x, float actual, float expected) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << x;
  } else {
    EXPECT_EQ(actual, expected) << x;
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << x;
  }
}

// By width of codes.
class FakeQuantize : public testing::TestWithParam<int> {};

TEST_P(FakeQuantize, GivesTheCodesAndValuesThatTheDefinitionGives) {
  const int32_t largest = LargestCode(GetParam());
  for (const QuantSpec::Rounding rounding : kRoundings) {
    const CodeRange all_codes = SymmetricCodes(GetParam(), rounding);
    for (const float range : {1.0f, 0.3f, 127.0f, 5.9e-7f, 1e30f, 1e-31f, 0.0f}) {
      SCOPED_TRACE(range);
      const std::vector<float> x = Values(range == 0 ? 1 : range, largest);
      const Channels channels = {1, 1, static_cast<int64_t>(x.size())};
      std::vector<float> codes(x.size());
      Quantize(x, {range}, channels, all_codes, absl::MakeSpan(codes));
      std::vector<float> values(x.size());
      QuantizeDequantize(x, {range}, channels, all_codes, absl::MakeSpan(values));
      std::vector<float> dequantized(x.size());
      Dequantize(codes, {range}, channels, largest, absl::MakeSpan(dequantized));
      for (size_t i = 0; i < x.size(); ++i) {
        const float code = QuantizeOne(x[i], range, all_codes) + 0.0f;
        ExpectSame(x[i], codes[i], code);
        ExpectSame(x[i], values[i], DequantizeOne(code, range, largest));
        ExpectSame(x[i], dequantized[i], values[i]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bits, FakeQuantize, testing::Values(2, 3, 4, 8, 9, 16));

TEST(FakeQuantize, GivesIntegersForProducts) {
  for (const QuantSpec::Rounding rounding : kRoundings) {
    const CodeRange all_codes = SymmetricCodes(8, rounding);
    std::vector<float> x = Values(0.7f, 127);
    const Channels channels = {1, 1, static_cast<int64_t>(x.size())};
    std::vector<int8_t> codes(x.size());
    Quantize(x, {0.7f}, channels, all_codes, absl::MakeSpan(codes));
    std::vector<float> values(x.size());
    std::vector<int8_t> codes_with_values(x.size());
    QuantizeDequantize(x, {0.7f}, channels, all_codes, absl::MakeSpan(values),
                       absl::MakeSpan(codes_with_values));
    EXPECT_EQ(codes_with_values, codes);
    std::vector<float> dequantized(x.size());
    Dequantize(codes, {0.7f}, channels, 127, absl::MakeSpan(dequantized));
    for (size_t i = 0; i < x.size(); ++i) {
      const float code = QuantizeOne(x[i], 0.7f, all_codes);
      EXPECT_EQ(codes[i], std::isnan(code) ? 0 : static_cast<int>(code)) << x[i];
      EXPECT_TRUE(std::isnan(code) || dequantized[i] == values[i]) << x[i];
    }
  }
}

TEST(FakeQuantize, GivesUnsignedIntegersOfWhatIsNeverNegative) {
  for (const QuantSpec::Rounding rounding : kRoundings) {
    const CodeRange all_codes = SymmetricCodes(9, rounding);
    std::vector<float> x = Values(6.0f, 255);
    for (float& value : x) value = std::fabs(value);
    const Channels channels = {1, 1, static_cast<int64_t>(x.size())};
    std::vector<uint8_t> codes(x.size());
    Quantize(x, {6.0f}, channels, all_codes, absl::MakeSpan(codes));
    std::vector<float> values = x;
    std::vector<uint8_t> codes_with_values(x.size());
    QuantizeDequantize(values, {6.0f}, channels, all_codes, absl::MakeSpan(values),
                       absl::MakeSpan(codes_with_values));
    EXPECT_EQ(codes_with_values, codes);
    std::vector<float> dequantized(x.size());
    Dequantize(codes, {6.0f}, channels, 255, absl::MakeSpan(dequantized));
    for (size_t i = 0; i < x.size(); ++i) {
      const float code = QuantizeOne(x[i], 6.0f, all_codes);
      EXPECT_EQ(codes[i], std::isnan(code) ? 0 : static_cast<int>(code)) << x[i];
      EXPECT_TRUE(std::isnan(code) || dequantized[i] == values[i]) << x[i];
    }
  }
}

// [2, 3, 4] by the middle axis, and [8, 3] by the last: the same values.
TEST(FakeQuantize, HasARangeForEachChannel) {
  std::vector<float> first(24);
  std::vector<float> last(24);
  for (int o = 0; o < 2; ++o) {
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < 4; ++i) {
        const float value = static_cast<float>((o * 5 + i * 3 + 1) * (c + 1)) * (i % 2 ? 1 : -1);
        first[(o * 3 + c) * 4 + i] = value;
        last[(o * 4 + i) * 3 + c] = value;
      }
    }
  }
  std::vector<float> ranges(3);
  FindRanges(first, {2, 3, 4}, absl::MakeSpan(ranges));
  EXPECT_EQ(ranges, (std::vector<float>{15, 30, 45}));
  std::vector<float> ranges_of_last(3);
  FindRanges(last, {8, 3, 1}, absl::MakeSpan(ranges_of_last));
  EXPECT_EQ(ranges_of_last, ranges);

  const CodeRange all_codes = SymmetricCodes(4, QuantSpec::HALF_TO_EVEN);
  QuantizeDequantize(first, ranges, {2, 3, 4}, all_codes, absl::MakeSpan(first));
  const std::vector<float> x = last;
  QuantizeDequantize(last, ranges, {8, 3, 1}, all_codes, absl::MakeSpan(last));
  for (int o = 0; o < 2; ++o) {
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < 4; ++i) {
        const int place = (o * 4 + i) * 3 + c;
        const float code = QuantizeOne(x[place], ranges[c], all_codes);
        EXPECT_EQ(last[place], DequantizeOne(code, ranges[c], 7));
        EXPECT_EQ(first[(o * 3 + c) * 4 + i], last[place]);
      }
    }
  }
}

// [2, 3, 4] by the middle axis, and [8, 3] by the last, over their own sums.
TEST(FakeQuantize, DequantizesProductsByBothRanges) {
  const std::vector<float> ranges = {0.3f, 7.0f, 1e-3f};
  std::vector<float> sums(24);
  for (int i = 0; i < 24; ++i) sums[i] = static_cast<float>(1000 * i - 7000);
  std::vector<float> first = sums;
  DequantizeProduct(first, ranges, {2, 3, 4}, 0.7f, 127 * 255, absl::MakeSpan(first));
  std::vector<float> last = sums;
  DequantizeProduct(last, ranges, {8, 3, 1}, 0.7f, 127 * 255, absl::MakeSpan(last));
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(first[i], sums[i] * ranges[i / 4 % 3] * 0.7f / (127 * 255));
    EXPECT_EQ(last[i], sums[i] * ranges[i % 3] * 0.7f / (127 * 255));
  }
}

// As in the reference's comparison, a NaN counts only if it comes first.
TEST(FakeQuantize, FindsTheRangesThatTheDefinitionFindsAroundNan) {
  std::vector<float> range(1);
  for (const std::vector<float>& x :
       {std::vector<float>{1, -3, 2}, {1, kNan, -2}, {kNan, 5}, {1, -kInfinity}, {kNan}, {}}) {
    FindRanges(x, {1, 1, static_cast<int64_t>(x.size())}, absl::MakeSpan(range));
    const float expected = AbsMax(x);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(range[0]));
    } else {
      EXPECT_EQ(range[0], expected);
    }
  }
}

}  // namespace
}  // namespace fixpoint::kernels
