#include "runtime/kernels/row_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "ops/affine_codes.h"
#include "runtime/random.h"

namespace fixpoint::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Drawn(int64_t size, uint64_t seed) {
  std::vector<float> values(size);
  const RandomStream random(seed, 0, 0);
  for (int64_t i = 0; i < size; ++i) values[i] = static_cast<float>(random.Normal(i));
  return values;
}

std::vector<float> RowOf(const std::vector<float>& x, const Channels& rows, int64_t row) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows.size(); ++i) {
    if (i / rows.inner % rows.count == row) values.push_back(x[i]);
  }
  return values;
}

struct Coded {
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  std::vector<int8_t> codes;
  std::vector<float> values;
};

Coded Code(const std::vector<float>& x, const Channels& rows, const CodeRange& range) {
  Coded coded = {std::vector<float>(rows.count), std::vector<int32_t>(rows.count),
                 std::vector<int8_t>(x.size()), std::vector<float>(x.size())};
  const RowParams params = {absl::MakeSpan(coded.scales), absl::MakeSpan(coded.zero_points)};
  FindRowParams(x, rows, range, params);
  QuantizeRows(x, rows, range, params, absl::MakeSpan(coded.codes));
  DequantizeRows(coded.codes, rows, params, absl::MakeSpan(coded.values));
  return coded;
}

// In the words of ops/affine_codes.h, row by row.
TEST(RowCodes, AreThoseOfOneRowAtATime) {
  const Channels shapes[] = {{1, 5, 33}, {1, 1, 40}, {7, 19, 1}, {3, 4, 18}, {300, 65, 1}};
  for (const Channels& rows : shapes) {
    for (const int bits : {8, 4}) {
      for (const auto rounding : {QuantSpec::HALF_TO_EVEN, QuantSpec::HALF_AWAY_FROM_ZERO}) {
        SCOPED_TRACE(testing::Message() << rows.outer << " " << rows.count << " " << rows.inner
                                        << " " << bits << " " << rounding);
        std::vector<float> x = Drawn(rows.size(), bits);
        for (int64_t i = 0; i < rows.inner; ++i) x[i] = std::fabs(x[i]) + 1;
        const CodeRange range = AffineCodes(bits, /*is_unsigned=*/false, rounding);
        const Coded coded = Code(x, rows, range);
        for (int64_t row = 0; row < rows.count; ++row) {
          float min = 0;
          float max = 0;
          for (const float value : RowOf(x, rows, row)) {
            min = std::fmin(min, value);
            max = std::fmax(max, value);
          }
          const AffineParams params = AffineParamsOf(min, max, range);
          EXPECT_EQ(coded.scales[row], params.step);
          EXPECT_EQ(coded.zero_points[row], params.zero_point);
        }
        for (int64_t i = 0; i < rows.size(); ++i) {
          const int64_t row = i / rows.inner % rows.count;
          const AffineParams params = {coded.scales[row],
                                       static_cast<float>(coded.zero_points[row])};
          const float code = AffineCode(x[i], params, range);
          ASSERT_EQ(coded.codes[i], code) << i;
          ASSERT_EQ(coded.values[i], (code - params.zero_point) * params.step) << i;
        }
      }
    }
  }
}

// The range [-1, 3] has a step of 4 / 255, and the code -64 for 0.
TEST(RowCodes, SkipWhatIsNotFinite) {
  const Coded coded = Code({-1, 3, NAN, kInfinity, -kInfinity, 0}, {1, 1, 6}, {});
  EXPECT_EQ(coded.scales[0], 4.0f / 255);
  EXPECT_EQ(coded.zero_points[0], -64);
  EXPECT_EQ(coded.codes, (std::vector<int8_t>{-128, 127, -64, 127, -128, -64}));
}

TEST(RowCodes, OfZerosAreTheirZeroPoint) {
  const Coded coded = Code({0, 0, -0.0f, 0, 2, 4}, {1, 2, 3}, {});
  EXPECT_EQ(coded.scales[0], 1);
  EXPECT_EQ(coded.codes[0], coded.zero_points[0]);
  EXPECT_EQ(coded.values[0], 0);
  EXPECT_EQ(coded.zero_points[1], -128) << "0 is a code of what is above 0 too";
}

// More bits than an int8_t has.
TEST(RowCodes, CanBeNumbers) {
  const std::vector<float> x = Drawn(48, 3);
  std::vector<float> scales(3);
  std::vector<int32_t> zero_points(3);
  std::vector<float> codes(48);
  const RowParams params = {absl::MakeSpan(scales), absl::MakeSpan(zero_points)};
  const Channels rows = {1, 3, 16};
  const CodeRange range = AffineCodes(12, /*is_unsigned=*/false, QuantSpec::HALF_TO_EVEN);
  FindRowParams(x, rows, range, params);
  QuantizeRows(x, rows, range, params, absl::MakeSpan(codes));
  DequantizeRows(codes, rows, params, absl::MakeSpan(codes));
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(codes[i], x[i], 0.51f * scales[i / 16]);
}

}  // namespace
}  // namespace fixpoint::kernels
