// Weighted sums along an axis against plain loops in double.

#include "runtime/kernels/axis_taps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

// As many taps for each element as `counts` says, of any places and weights.
AxisTaps Drawn(const std::vector<int>& counts, int64_t length, uint64_t seed) {
  AxisTaps taps;
  uint64_t state = seed;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  for (const int count : counts) {
    for (int t = 0; t < count; ++t) {
      taps.places.push_back(static_cast<int32_t>(next() % static_cast<uint64_t>(length)));
      taps.weights.push_back(count == 1 ? 1 : static_cast<float>(next() % 1000) / 500 - 1);
    }
    taps.End();
  }
  return taps;
}

std::vector<float> Numbers(int64_t size) {
  std::vector<float> numbers(size);
  for (int64_t i = 0; i < size; ++i) numbers[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  return numbers;
}

std::vector<double> Expected(const AxisTaps& taps, const Lines& lines,
                             const std::vector<float>& x) {
  std::vector<double> y(lines.outer * taps.size() * lines.inner);
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < taps.size(); ++i) {
      for (int64_t t = taps.begins[i]; t < taps.begins[i + 1]; ++t) {
        for (int64_t k = 0; k < lines.inner; ++k) {
          y[(o * taps.size() + i) * lines.inner + k] +=
              double{taps.weights[t]} * x[(o * lines.length + taps.places[t]) * lines.inner + k];
        }
      }
    }
  }
  return y;
}

TEST(AxisTaps, AreSummed) {
  for (const std::vector<int>& counts :
       {std::vector<int>{1, 1, 1}, {2, 2, 2, 2}, {4, 4}, {0, 3, 1, 9, 200, 2}}) {
    for (const int64_t inner : {1, 3, 64, 131}) {
      const Lines lines = {3, 7, inner};
      const AxisTaps taps = Drawn(counts, lines.length, static_cast<uint64_t>(inner));
      const std::vector<float> x = Numbers(lines.size());
      const std::vector<double> expected = Expected(taps, lines, x);
      std::vector<float> y(expected.size(), 7);
      SumTaps(taps, lines, absl::MakeConstSpan(x), absl::MakeSpan(y));
      for (size_t i = 0; i < y.size(); ++i) {
        // Up to four products in float, or a sum that is rounded once.
        ASSERT_NEAR(y[i], expected[i], 1e-6 * (1 + std::fabs(expected[i]))) << i;
      }
    }
  }
}

// <y, A x> = <A^T y, x>.
TEST(AxisTaps, TransposedGiveTheGradient) {
  const Lines lines = {2, 5, 3};
  const AxisTaps taps = Drawn({2, 0, 4, 1, 7, 2}, lines.length, 3);
  const AxisTaps back = Transposed(taps, lines.length);
  ASSERT_EQ(back.size(), lines.length);
  const std::vector<float> x = Numbers(lines.size());
  const std::vector<float> dy = Numbers(lines.outer * taps.size() * lines.inner);
  std::vector<float> y(dy.size());
  std::vector<float> dx(x.size());
  SumTaps(taps, lines, absl::MakeConstSpan(x), absl::MakeSpan(y));
  SumTaps(back, {lines.outer, taps.size(), lines.inner}, absl::MakeConstSpan(dy),
          absl::MakeSpan(dx));
  double forward = 0;
  double backward = 0;
  for (size_t i = 0; i < y.size(); ++i) forward += double{y[i]} * dy[i];
  for (size_t i = 0; i < x.size(); ++i) backward += double{dx[i]} * x[i];
  EXPECT_NEAR(forward, backward, 1e-5);
}

TEST(AxisTaps, NanStaysWhereItIsRead) {
  AxisTaps taps;
  taps.places = {0, 1, 1};
  taps.weights = {0.5f, 0.5f, 1};
  taps.begins = {0, 2, 3};
  const std::vector<float> x = {std::numeric_limits<float>::quiet_NaN(), 2};
  std::vector<float> y(2);
  SumTaps(taps, {1, 2, 1}, absl::MakeConstSpan(x), absl::MakeSpan(y));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 2);
}

}  // namespace
}  // namespace fixpoint::kernels
