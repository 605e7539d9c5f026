// The gradients of trained ranges and steps against plain loops, in sizes of one piece and of many.

#include "runtime/kernels/range_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "ops/affine_codes.h"
#include "ops/code_range.h"
#include "ops/surrogate.h"

namespace fixpoint::kernels {
namespace {

class RangeGradients
    : public testing::TestWithParam<std::tuple<Surrogate, QuantSpec::Rounding, int64_t>> {
 protected:
  Surrogate surrogate() const { return std::get<0>(GetParam()); }
  QuantSpec::Rounding rounding() const { return std::get<1>(GetParam()); }
  size_t size() const { return std::get<2>(GetParam()); }

  // Multiples of an eighth, on and outside of both bounds too, so that sums are exact.
  static std::vector<float> Values(size_t size) {
    std::vector<float> x(size);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 301) / 8 - 18;
    return x;
  }
  static std::vector<float> Gradients(size_t size) {
    std::vector<float> dy(size);
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i * 13 % 17) - 7;
    return dy;
  }

  double Rounded(double u) const {
    return rounding() == QuantSpec::HALF_TO_EVEN ? std::nearbyint(u) : std::round(u);
  }
  bool IsInside(double u, double lowest, double n) const {
    if (surrogate() != Surrogate::kRoundThenClamp) return u > lowest && u < n;
    const double rounded = Rounded(u);
    return rounded >= lowest && rounded <= n;
  }
  // What the step has of a gradient.
  double OfStep(double u, double lowest, double n) const {
    const double code = std::fmin(std::fmax(Rounded(u), lowest), n);
    if (!IsInside(u, lowest, n)) return code;
    return surrogate() == Surrogate::kClamp ? 0 : code - u;
  }
};

// In channels of the first axis, of the last and between, or in one.
TEST_P(RangeGradients, OfRangesEqualPlainLoops) {
  const auto n = static_cast<int64_t>(size());
  for (const Channels& channels :
       {Channels{1, 1, n}, Channels{1, 2, n}, Channels{n, 2, 1}, Channels{2, 2, n}}) {
    const std::vector<float> x = Values(channels.size());
    const std::vector<float> dy = Gradients(channels.size());
    const CodeRange codes = SymmetricCodes(4, rounding());
    // Steps of 1 and 2.
    std::vector<float> ranges(channels.count);
    for (size_t c = 0; c < ranges.size(); ++c) {
      ranges[c] = static_cast<float>(codes.largest) * static_cast<float>(1 + c);
    }
    std::vector<double> of_steps(channels.count);
    std::vector<float> expected(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i / channels.inner % channels.count;
      const double u = x[i] / static_cast<double>(1 + c);
      expected[i] = IsInside(u, codes.smallest, codes.largest) ? dy[i] : 0;
      of_steps[c] += dy[i] * OfStep(u, codes.smallest, codes.largest);
    }
    std::vector<float> dx = dy;
    std::vector<float> dranges(channels.count);
    RangeBackward(codes, surrogate(), channels, x, ranges, dx, absl::MakeSpan(dx),
                  absl::MakeSpan(dranges));
    EXPECT_EQ(dx, expected);
    for (size_t c = 0; c < dranges.size(); ++c) {
      EXPECT_FLOAT_EQ(dranges[c], static_cast<float>(of_steps[c] / codes.largest)) << c;
    }
  }
}

TEST_P(RangeGradients, OfAStepAndAZeroPointEqualPlainLoops) {
  std::vector<float> x = Values(size());
  x[1] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> dy = Gradients(size());
  const CodeRange codes = AffineCodes(4, /*is_unsigned=*/true, rounding());
  const AffineParams params = {0.5f, 3};
  const double lowest = codes.smallest - params.zero_point;
  const double n = codes.largest - params.zero_point;
  double dstep = 0;
  double dzero_point = 0;
  std::vector<float> expected(size());
  for (size_t i = 0; i < size(); ++i) {
    const double u = x[i] / params.step;
    const bool is_inside = IsInside(u, lowest, n);
    expected[i] = is_inside ? dy[i] : 0;
    if (!std::isnan(u)) dstep += dy[i] * OfStep(u, lowest, n);
    if (!is_inside) dzero_point -= dy[i] * params.step;
  }
  std::vector<float> dx(size());
  const AffineGradient found =
      AffineBackward(codes, surrogate(), params, x, dy, absl::MakeSpan(dx));
  EXPECT_EQ(dx, expected);
  EXPECT_FLOAT_EQ(found.step, static_cast<float>(dstep));
  EXPECT_FLOAT_EQ(found.zero_point, static_cast<float>(dzero_point));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, RangeGradients,
    testing::Combine(testing::Values(Surrogate::kClampThenRound, Surrogate::kRoundThenClamp,
                                     Surrogate::kClamp),
                     testing::Values(QuantSpec::HALF_TO_EVEN, QuantSpec::HALF_AWAY_FROM_ZERO),
                     testing::Values(5, 3000, 200003)));

}  // namespace
}  // namespace fixpoint::kernels
