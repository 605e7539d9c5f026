// Layer normalization and its gradients against plain loops in double.

#include "runtime/kernels/layer_norm.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

struct Case {
  std::string name;
  LayerNormShape shape;
  bool has_scale;
  bool has_bias;
};

class LayerNorms : public testing::TestWithParam<Case> {
 protected:
  static std::vector<float> Waves(int64_t size, float step) {
    std::vector<float> values(size);
    for (int64_t i = 0; i < size; ++i) values[i] = std::sin(step * static_cast<float>(i)) + 0.2f;
    return values;
  }
};

TEST_P(LayerNorms, EqualPlainLoops) {
  const auto& [name, shape, has_scale, has_bias] = GetParam();
  const auto planned = LayerNorm::Plan(shape);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const int64_t width = shape.width;
  const std::vector<float> x = Waves(shape.size(), 0.7f);
  const std::vector<float> dy = Waves(shape.size(), 0.3f);
  const std::vector<float> scale = Waves(has_scale ? width : 0, 2.1f);
  const std::vector<float> bias = Waves(has_bias ? width : 0, 1.3f);
  std::vector<float> y = x;
  std::vector<float> mean(shape.rows);
  std::vector<float> variance(shape.rows);
  (*planned)->Forward(y, scale, bias, absl::MakeSpan(y), absl::MakeSpan(mean),
                      absl::MakeSpan(variance));
  std::vector<float> last_row(x.end() - width, x.end());
  (*planned)->Normalize(last_row, scale, bias, absl::MakeSpan(last_row));
  EXPECT_EQ(last_row, std::vector<float>(y.end() - width, y.end()));
  std::vector<float> dx = dy;
  std::vector<float> dscale(has_scale ? width : 0);
  std::vector<float> dbias(has_bias ? width : 0);
  (*planned)->Backward(x, dx, scale, absl::MakeSpan(dx), absl::MakeSpan(dscale),
                       absl::MakeSpan(dbias));

  std::vector<double> expected_dscale(width);
  std::vector<double> expected_dbias(width);
  for (int64_t r = 0; r < shape.rows; ++r) {
    double average = 0;
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) average += double{x[r * width + i]} / width;
    for (int64_t i = 0; i < width; ++i) {
      squares += (x[r * width + i] - average) * (x[r * width + i] - average) / width;
    }
    EXPECT_NEAR(mean[r], average, 2 * FLT_EPSILON);
    EXPECT_NEAR(variance[r], squares, 2 * FLT_EPSILON);
    const double inverse = 1 / std::sqrt(squares + shape.epsilon);
    const auto n = [&](int64_t i) { return (x[r * width + i] - average) * inverse; };
    const auto g = [&](int64_t i) {
      return double{dy[r * width + i]} * (has_scale ? scale[i] : 1.0f);
    };
    double mean_g = 0;
    double mean_gn = 0;
    for (int64_t i = 0; i < width; ++i) {
      mean_g += g(i) / width;
      mean_gn += g(i) * n(i) / width;
      expected_dscale[i] += dy[r * width + i] * n(i);
      expected_dbias[i] += dy[r * width + i];
    }
    // A few operations on floats of up to 1.2, divided by a deviation of `inverse`, whose own error
    // is that of the variance divided by it once more.
    const double tolerance = 16 * FLT_EPSILON * std::fmax(1, inverse * inverse);
    for (int64_t i = 0; i < width; ++i) {
      const double value = n(i) * (has_scale ? scale[i] : 1.0f) + (has_bias ? bias[i] : 0.0f);
      ASSERT_NEAR(y[r * width + i], value, tolerance) << r << " " << i;
      ASSERT_NEAR(dx[r * width + i], (g(i) - mean_g - n(i) * mean_gn) * inverse,
                  tolerance * std::fmax(1, inverse))
          << r << " " << i;
    }
  }
  for (size_t i = 0; i < dscale.size(); ++i) {
    EXPECT_NEAR(dscale[i], expected_dscale[i], shape.rows * 16 * FLT_EPSILON);
  }
  for (size_t i = 0; i < dbias.size(); ++i) {
    EXPECT_NEAR(dbias[i], expected_dbias[i], shape.rows * FLT_EPSILON);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LayerNorms,
                         testing::Values(Case{"Encoder", {12, 768, 1e-12f}, true, true},
                                         Case{"OddWidth", {5, 37, 1e-5f}, true, true},
                                         Case{"NoScale", {4, 20, 1e-5f}, false, true},
                                         Case{"NoBias", {4, 20, 1e-5f}, true, false},
                                         Case{"Bare", {3, 16, 1e-3f}, false, false},
                                         Case{"OneRow", {1, 100, 1e-5f}, true, true}),
                         [](const auto& info) { return info.param.name; });

// A variance of 0, of which epsilon alone is left.
TEST(LayerNorm, GivesTheBiasWhereARowIsConstant) {
  const auto planned = LayerNorm::Plan({2, 3, 1e-5f});
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> y(6);
  std::vector<float> mean(2);
  std::vector<float> variance(2);
  (*planned)->Forward({7, 7, 7, 1, std::numeric_limits<float>::quiet_NaN(), 2}, {2, 2, 2},
                      {1, 2, 3}, absl::MakeSpan(y), absl::MakeSpan(mean), absl::MakeSpan(variance));
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 3), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(variance[0], 0);
  EXPECT_TRUE(std::isnan(y[3]) && std::isnan(y[4]) && std::isnan(y[5]));
}

// Floats hold neither the variance of such rows nor, of the last, all distances from the mean.
TEST(LayerNorm, NormalizesNumbersOfAnySize) {
  const LayerNormShape shape = {3, 4, 1e-5f};
  const auto planned = LayerNorm::Plan(shape);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::vector<float> x = {1e20f, 2e20f, 3e20f, 6e20f,  1e30f, -1e30f,
                                2e30f, 0,     3e38f, -3e38f, 3e38f, 3e38f};
  const std::vector<float> dy = {1e20f, -2e20f, 1e20f, 0,     1e30f, 1e30f,
                                 1e30f, 2e30f,  1e38f, 1e38f, 2e38f, 0};
  std::vector<float> y(x.size());
  std::vector<float> dx(x.size());
  std::vector<float> mean(shape.rows);
  std::vector<float> variance(shape.rows);
  (*planned)->Forward(x, {}, {}, absl::MakeSpan(y), absl::MakeSpan(mean), absl::MakeSpan(variance));
  (*planned)->Backward(x, dy, {}, absl::MakeSpan(dx), {}, {});
  for (int64_t r = 0; r < shape.rows; ++r) {
    const auto mean_of = [&](const auto& term) {
      return (term(4 * r) + term(4 * r + 1) + term(4 * r + 2) + term(4 * r + 3)) / 4;
    };
    const double average = mean_of([&](int64_t i) { return double{x[i]}; });
    const double deviation =
        std::sqrt(mean_of([&](int64_t i) { return (x[i] - average) * (x[i] - average); }));
    const auto n = [&](int64_t i) { return (x[i] - average) / deviation; };
    const double mean_g = mean_of([&](int64_t i) { return double{dy[i]}; });
    const double mean_gn = mean_of([&](int64_t i) { return dy[i] * n(i); });
    for (int64_t i = 4 * r; i < 4 * r + 4; ++i) {
      EXPECT_NEAR(y[i], n(i), 1e-6) << i;
      EXPECT_NEAR(dx[i], (dy[i] - mean_g - n(i) * mean_gn) / deviation, 1e-6) << i;
    }
  }
}

// One float does not hold the mean of such rows.
TEST(LayerNorm, KeepsTheDigitsOfElementsThatAreNearTheirMean) {
  const auto planned = LayerNorm::Plan({2, 2, 1e-5f});
  ASSERT_TRUE(planned.ok()) << planned.status();
  const float next = std::nextafter(1000.0f, 2000.0f);
  const std::vector<float> x = {1000, next, -next, -1000};
  const double half = (double{next} - 1000) / 2;
  const double inverse = 1 / std::sqrt(half * half + 1e-5);
  std::vector<float> y(4);
  std::vector<float> mean(2);
  std::vector<float> variance(2);
  (*planned)->Forward(x, {}, {}, absl::MakeSpan(y), absl::MakeSpan(mean), absl::MakeSpan(variance));
  std::vector<float> dx(4);
  std::vector<float> dscale(2);
  (*planned)->Backward(x, {1, 0, 1, 0}, {}, absl::MakeSpan(dx), absl::MakeSpan(dscale), {});
  const double n = half * inverse;
  const double slope = (1 - n * n) / 2 * inverse;
  for (const int64_t i : {0, 2}) {
    EXPECT_NEAR(y[i], -n, 1e-7 * n);
    EXPECT_NEAR(y[i + 1], n, 1e-7 * n);
    EXPECT_NEAR(dx[i], slope, 1e-6 * slope);
    EXPECT_NEAR(dx[i + 1], -slope, 1e-6 * slope);
  }
  EXPECT_NEAR(dscale[0], -2 * n, 1e-6 * n);
  EXPECT_EQ(dscale[1], 0);
}

TEST(LayerNorm, RefusesWhatIsEmpty) {
  EXPECT_EQ(LayerNorm::Plan({3, 0}).status(),
            absl::InvalidArgumentError("rows [3, 0]; want extents of 1 to 2^31 - 1"));
}

}  // namespace
}  // namespace fixpoint::kernels
