// Group normalization and its gradients against plain loops in double.

#include "runtime/kernels/group_norm.h"

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
  GroupNormShape shape;
  bool has_scale = true;
  bool has_bias = true;
};

class GroupNorms : public testing::TestWithParam<Case> {
 protected:
  static std::vector<float> Waves(int64_t size, float step) {
    std::vector<float> values(size);
    for (int64_t i = 0; i < size; ++i) values[i] = std::sin(step * static_cast<float>(i)) + 0.2f;
    return values;
  }

  // Calls f(i, c) with the elements of a group of an image.
  template <typename F>
  static void ForEachOf(const GroupNormShape& shape, int64_t image, int64_t group, F f) {
    const int64_t size = shape.channels / shape.groups;
    for (int64_t c = group * size; c < (group + 1) * size; ++c) {
      for (int64_t p = 0; p < shape.places; ++p) {
        const int64_t of_image = image * shape.channels * shape.places;
        f(of_image + (shape.channels_last ? p * shape.channels + c : c * shape.places + p), c);
      }
    }
  }
};

TEST_P(GroupNorms, EqualPlainLoops) {
  const auto& [name, shape, has_scale, has_bias] = GetParam();
  const auto planned = GroupNorm::Plan(shape);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::vector<float> x = Waves(shape.size(), 0.7f);
  const std::vector<float> dy = Waves(shape.size(), 0.3f);
  const std::vector<float> scale = Waves(has_scale ? shape.channels : 0, 2.1f);
  const std::vector<float> bias = Waves(has_bias ? shape.channels : 0, 1.3f);
  std::vector<float> y = x;
  std::vector<float> mean(shape.batch * shape.groups);
  std::vector<float> variance(shape.batch * shape.groups);
  (*planned)->Forward(y, scale, bias, absl::MakeSpan(y), absl::MakeSpan(mean),
                      absl::MakeSpan(variance));
  std::vector<float> dx = dy;
  std::vector<float> dscale(shape.channels);
  std::vector<float> dbias(shape.channels);
  (*planned)->Backward(x, dx, scale, absl::MakeSpan(dx), absl::MakeSpan(dscale),
                       absl::MakeSpan(dbias));
  std::vector<float> dx_of_y = dy;
  std::vector<float> dscale_of_y(shape.channels);
  std::vector<float> dbias_of_y(shape.channels);
  (*planned)->BackwardFromOutput(y, variance, dx_of_y, scale, bias, absl::MakeSpan(dx_of_y),
                                 absl::MakeSpan(dscale_of_y), absl::MakeSpan(dbias_of_y));

  std::vector<double> expected_dscale(shape.channels);
  std::vector<double> expected_dbias(shape.channels);
  const double count = static_cast<double>(shape.channels / shape.groups * shape.places);
  for (int64_t image = 0; image < shape.batch; ++image) {
    for (int64_t group = 0; group < shape.groups; ++group) {
      double average = 0;
      double squares = 0;
      ForEachOf(shape, image, group, [&](int64_t i, int64_t) { average += x[i] / count; });
      ForEachOf(shape, image, group, [&](int64_t i, int64_t) {
        squares += (x[i] - average) * (x[i] - average) / count;
      });
      EXPECT_NEAR(mean[image * shape.groups + group], average, 2 * FLT_EPSILON);
      EXPECT_NEAR(variance[image * shape.groups + group], squares, 2 * FLT_EPSILON);
      const double inverse = 1 / std::sqrt(squares + shape.epsilon);
      const auto n = [&](int64_t i) { return (x[i] - average) * inverse; };
      const auto g = [&](int64_t i, int64_t c) {
        return double{dy[i]} * (has_scale ? scale[c] : 1.0f);
      };
      double mean_g = 0;
      double mean_gn = 0;
      ForEachOf(shape, image, group, [&](int64_t i, int64_t c) {
        mean_g += g(i, c) / count;
        mean_gn += g(i, c) * n(i) / count;
        expected_dscale[c] += dy[i] * n(i);
        expected_dbias[c] += dy[i];
      });
      // The same as for rows (layer_norm_test.cc).
      const double tolerance = 16 * FLT_EPSILON * std::fmax(1, inverse * inverse);
      ForEachOf(shape, image, group, [&](int64_t i, int64_t c) {
        const double value = n(i) * (has_scale ? scale[c] : 1.0f) + (has_bias ? bias[c] : 0.0f);
        ASSERT_NEAR(y[i], value, tolerance) << i;
        ASSERT_NEAR(dx[i], (g(i, c) - mean_g - n(i) * mean_gn) * inverse,
                    tolerance * std::fmax(1, inverse))
            << i;
        // A normalized element has the error of y over the scale, of which none is below 1/4.
        ASSERT_NEAR(dx_of_y[i], dx[i], 8 * tolerance * std::fmax(1, inverse)) << i;
      });
    }
  }
  // Each term is a product of floats of up to 2.
  const double terms = static_cast<double>(shape.batch * shape.places);
  for (int64_t c = 0; c < shape.channels; ++c) {
    EXPECT_NEAR(dscale[c], expected_dscale[c], terms * 16 * FLT_EPSILON);
    EXPECT_NEAR(dbias[c], expected_dbias[c], terms * FLT_EPSILON);
    EXPECT_NEAR(dscale_of_y[c], expected_dscale[c], terms * 64 * FLT_EPSILON);
    EXPECT_EQ(dbias_of_y[c], dbias[c]);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GroupNorms,
                         testing::Values(Case{"Groups", {2, 12, 35, 3, false, 1e-5f}},
                                         Case{"GroupsChannelsLast", {2, 12, 35, 3, true, 1e-5f}},
                                         Case{"Instances", {3, 5, 49, 5, false, 1e-5f}},
                                         Case{"InstancesChannelsLast", {3, 5, 49, 5, true, 1e-5f}},
                                         Case{"OneGroup", {2, 7, 16, 1, true, 1e-3f}},
                                         Case{"NoScale", {2, 4, 20, 2, true, 1e-5f}, false, true},
                                         Case{"NoBias", {2, 4, 20, 2, false, 1e-5f}, true, false}),
                         [](const auto& info) { return info.param.name; });

// A variance of 0, of which epsilon alone is left; and a NaN, which stays in its group.
TEST(GroupNorm, GivesTheBiasWhereAGroupIsConstant) {
  const auto planned = GroupNorm::Plan({1, 2, 3, 2, false, 1e-5f});
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> y(6);
  std::vector<float> mean(2);
  std::vector<float> variance(2);
  (*planned)->Forward({7, 7, 7, 1, std::numeric_limits<float>::quiet_NaN(), 2}, {2, 2}, {1, 2},
                      absl::MakeSpan(y), absl::MakeSpan(mean), absl::MakeSpan(variance));
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 3), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(variance[0], 0);
  EXPECT_TRUE(std::isnan(y[3]) && std::isnan(y[4]) && std::isnan(y[5]));
}

// The variance of such groups exceeds the range of floats.
TEST(GroupNorm, NormalizesNumbersOfAnySize) {
  GroupNormShape shape;
  shape.channels = 2;
  shape.groups = 2;
  shape.places = 2;
  const auto planned = GroupNorm::Plan(shape);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::vector<float> x = {1e20f, 3e20f, -3e38f, 2e38f};
  std::vector<float> y(x.size());
  std::vector<float> mean(2);
  std::vector<float> variance(2);
  (*planned)->Forward(x, {}, {}, absl::MakeSpan(y), absl::MakeSpan(mean), absl::MakeSpan(variance));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], i % 2 == 0 ? -1 : 1, 1e-6);
  std::vector<float> dx(x.size());
  (*planned)->Backward(x, {1e20f, 0, 0, 1e38f}, {}, absl::MakeSpan(dx), {}, {});
  // Two elements are normalized to 1 and -1, whatever they are.
  for (const float gradient : dx) EXPECT_NEAR(gradient, 0, 1e-6);
}

// One float does not hold the mean of such groups.
TEST(GroupNorm, KeepsTheDigitsOfElementsThatAreNearTheirMean) {
  const auto planned = GroupNorm::Plan({1, 1, 2, 1, false, 1e-5f});
  ASSERT_TRUE(planned.ok()) << planned.status();
  const float next = std::nextafter(1000.0f, 2000.0f);
  const double half = (double{next} - 1000) / 2;
  const double n = half / std::sqrt(half * half + 1e-5);
  std::vector<float> y(2);
  std::vector<float> mean(1);
  std::vector<float> variance(1);
  (*planned)->Forward({1000, next}, {}, {}, absl::MakeSpan(y), absl::MakeSpan(mean),
                      absl::MakeSpan(variance));
  EXPECT_NEAR(y[0], -n, 1e-7 * n);
  EXPECT_NEAR(y[1], n, 1e-7 * n);
}

TEST(GroupNorm, RefusesWhatDoesNotFit) {
  EXPECT_EQ(GroupNorm::Plan({2, 6, 0, 2}).status(),
            absl::InvalidArgumentError("images [2, 6, 0]; want extents of 1 to 2^31 - 1"));
  EXPECT_EQ(GroupNorm::Plan({2, 6, 5, 4}).status(),
            absl::InvalidArgumentError("4 groups of 6 channels; want a divisor of them"));
}

}  // namespace
}  // namespace fixpoint::kernels
