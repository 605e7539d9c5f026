// From floats to codes and back, element by element.

#include "runtime/kernels/code_conversion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ops/quant_math.h"

namespace fixpoint::kernels {
namespace {

struct ConversionCase {
  std::string name;
  CodeConversion conversion;
};

const ConversionCase kCases[] = {
    {"Int8", {2, -128, 127}},
    {"FourBits", {2, -8, 7}},
    {"AffineUint8", {2, 0, 255, 77}},
    {"AffineInt8", {2, -128, 127, -50}},
    {"AffineFourBits", {2, 0, 15, 3}},
    {"AwayFromZero", {2, 0, 255, 77, QuantSpec::HALF_AWAY_FROM_ZERO}},
};

// Ties among them, at a multiplier of 2.
std::vector<float> Numbers() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers = {std::nanf(""), kInfinity, -kInfinity, 3e38f, -3e38f, -0.0f};
  for (int i = -600; i <= 600; ++i) numbers.push_back(static_cast<float>(i) / 8);
  return numbers;
}

float CodeOf(float x, const CodeConversion& c) {
  const float scaled = x * c.multiplier;
  if (std::isnan(scaled)) return c.zero_point;
  const float steps =
      c.rounding == QuantSpec::HALF_TO_EVEN ? RoundHalfToEven(scaled) : std::round(scaled);
  return std::min(std::max(steps + c.zero_point, c.smallest_code), c.largest_code);
}

class Conversions : public testing::TestWithParam<ConversionCase> {};

TEST_P(Conversions, RoundAndThenAddTheZeroPoint) {
  const CodeConversion& conversion = GetParam().conversion;
  const std::vector<float> x = Numbers();
  std::vector<uint8_t> bytes(x.size());
  const bool is_signed = conversion.smallest_code < 0;
  if (is_signed) {
    const auto codes = reinterpret_cast<int8_t*>(bytes.data());
    Convert(x, conversion, absl::MakeSpan(codes, bytes.size()));
  } else {
    Convert(x, conversion, absl::MakeSpan(bytes));
  }
  constexpr float kStep = 0.0213f;
  std::vector<float> back(x.size());
  Revert(bytes, is_signed ? CodeType::kInt8 : CodeType::kUint8, kStep, conversion.zero_point,
         absl::MakeSpan(back));
  for (size_t i = 0; i < x.size(); ++i) {
    const int code = is_signed ? static_cast<int8_t>(bytes[i]) : bytes[i];
    ASSERT_EQ(code, CodeOf(x[i], conversion)) << x[i];
    ASSERT_EQ(back[i], (static_cast<float>(code) - conversion.zero_point) * kStep) << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, Conversions, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint::kernels
