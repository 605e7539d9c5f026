// The rectifier with learned slopes and its gradients against plain loops.

#include "runtime/kernels/prelu.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

struct Case {
  std::string name;
  PreluShape shape;
};

class Prelus : public testing::TestWithParam<Case> {};

TEST_P(Prelus, EqualPlainLoops) {
  const PreluShape shape = GetParam().shape;
  std::vector<float> x(shape.size());
  std::vector<float> dy(shape.size());
  std::vector<float> slopes(shape.slopes);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(0.7f * static_cast<float>(i));
    dy[i] = std::cos(0.3f * static_cast<float>(i));
  }
  for (size_t c = 0; c < slopes.size(); ++c) slopes[c] = 0.1f + 0.2f * static_cast<float>(c);
  x[0] = 0;
  x.back() = std::numeric_limits<float>::quiet_NaN();
  const auto slope = [&](size_t i) { return static_cast<int64_t>(i) / shape.inner % shape.slopes; };

  std::vector<float> y = x;
  Prelu(shape, y, slopes, absl::MakeSpan(y));
  std::vector<float> dx = dy;
  PreluBackward(shape, x, slopes, dx, absl::MakeSpan(dx));
  x.back() = -1;  // so that its slope's gradient is a number
  std::vector<double> sums(shape.slopes);
  std::vector<float> dslopes(shape.slopes);
  PreluBackwardSlopes(shape, x, dy, absl::MakeSpan(sums), absl::MakeSpan(dslopes));

  EXPECT_TRUE(std::isnan(y.back()));
  std::vector<double> expected(shape.slopes);
  for (size_t i = 0; i < x.size(); ++i) {
    const float factor = x[i] > 0 ? 1 : slopes[slope(i)];
    if (i + 1 < x.size()) {
      EXPECT_EQ(y[i], x[i] * factor) << i;
    }
    EXPECT_EQ(dx[i], dy[i] * factor) << i;
    if (!(x[i] > 0)) expected[slope(i)] += double{dy[i]} * x[i];
  }
  // Products of floats of up to 1, each rounded.
  for (size_t c = 0; c < expected.size(); ++c) {
    EXPECT_NEAR(dslopes[c], expected[c], static_cast<double>(x.size()) * FLT_EPSILON) << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Prelus,
                         testing::Values(Case{"OneSlope", {1, 1, 77}}, Case{"Rows", {2, 5, 33}},
                                         Case{"ChannelsLast", {14, 37, 1}},
                                         Case{"Elements", {3, 20, 1}},
                                         Case{"OneElement", {1, 1, 1}}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint::kernels
