// Pooling and its gradients against plain loops in double.

#include "runtime/kernels/pooling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/kernels/pooling_shape.h"
#include "tests/runtime/kernels/pooling_cases.h"

namespace fixpoint::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<double> ExpectedForward(const PoolingShape& shape, const std::vector<float>& x) {
  std::vector<double> y(shape.output_size());
  ForEachWindow(shape, [&](int64_t out, const std::vector<int64_t>& places, int64_t divisor) {
    const bool is_max = shape.type == PoolingType::kMax;
    if (is_max) y[out] = -FLT_MAX;
    for (const int64_t at : places) {
      y[out] =
          is_max ? std::max(y[out], double{x[at]}) : y[out] + x[at] / static_cast<double>(divisor);
    }
  });
  return y;
}

// The gradient of a maximum goes to the first element that is equal to it.
std::vector<double> ExpectedBackward(const PoolingShape& shape, const std::vector<float>& x,
                                     const std::vector<double>& y, const std::vector<float>& dy) {
  std::vector<double> dx(shape.input_size());
  ForEachWindow(shape, [&](int64_t out, const std::vector<int64_t>& places, int64_t divisor) {
    for (const int64_t at : places) {
      if (shape.type == PoolingType::kAverage) {
        dx[at] += dy[out] / static_cast<double>(divisor);
      } else if (x[at] == y[out]) {
        dx[at] += dy[out];
        break;
      }
    }
  });
  return dx;
}

class Poolings : public testing::TestWithParam<std::tuple<PoolingCase, PoolingVariant>> {
 protected:
  // Forward and backward, compared. A pixel is a sum of up to 42 terms of up to 2.
  void ExpectPlainLoops(const std::vector<float>& x) {
    const auto planned = Pooling::Plan(shape_);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const Pooling& pooling = **planned;
    std::vector<float> y(shape_.output_size());
    std::vector<int32_t> mask(pooling.mask_size());
    pooling.Forward(x, absl::MakeSpan(y), absl::MakeSpan(mask));
    const std::vector<double> expected = ExpectedForward(shape_, x);
    const double tolerance = shape_.type == PoolingType::kMax ? 0 : 42 * 2 * FLT_EPSILON;
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], tolerance) << i;

    std::vector<float> dy(y.size());
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = std::cos(static_cast<float>(i));
    std::vector<float> dx(x.size(), kNan);
    pooling.Backward(dy, mask, absl::MakeSpan(dx));
    const std::vector<double> gradient = ExpectedBackward(shape_, x, expected, dy);
    for (size_t i = 0; i < dx.size(); ++i) {
      ASSERT_NEAR(dx[i], gradient[i], 42 * 2 * FLT_EPSILON) << i;
    }
  }

  void SetUp() override {
    shape_ = ShapeOf(std::get<0>(GetParam()), std::get<1>(GetParam()));
    ASSERT_TRUE(CompleteShape(&shape_).ok());
  }

  PoolingShape shape_;
};

TEST_P(Poolings, EqualPlainLoops) {
  std::vector<float> x(shape_.input_size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = 2 * std::sin(static_cast<float>(i * i));
  ExpectPlainLoops(x);
}

// Few values, so that windows have many equal elements.
TEST_P(Poolings, GiveATieToTheFirst) {
  std::vector<float> x(shape_.input_size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 3) - 1.0f;
  ExpectPlainLoops(x);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Poolings,
                         testing::Combine(testing::ValuesIn(PoolingCases()),
                                          testing::ValuesIn(PoolingVariants())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + std::get<1>(info.param).name;
                         });

// The maximum of one window of six elements, and where its gradient goes.
struct Edge {
  std::vector<float> x;
  float maximum;
  std::vector<float> dx;
};

TEST(Pooling, FindsMaximaAmongWhatIsNoNumber) {
  const std::vector<Edge> edges = {
      {{1, kNan, 3, kNan, 2, 3}, 3, {0, 0, 1, 0, 0, 0}},
      {{-kInfinity, -5, kNan, -7, -kInfinity, -5}, -5, {0, 1, 0, 0, 0, 0}},
      {{0, kInfinity, 1, kInfinity, 2, 3}, kInfinity, {0, 1, 0, 0, 0, 0}},
      {{kNan, kNan, kNan, kNan, kNan, kNan}, -FLT_MAX, {0, 0, 0, 0, 0, 0}},
      {{-kInfinity, -kInfinity, -kInfinity, -kInfinity, -FLT_MAX, -FLT_MAX},
       -FLT_MAX,
       {0, 0, 0, 0, 1, 0}},
      {{-0.0f, 0.0f, -1, -1, -1, -1}, 0, {1, 0, 0, 0, 0, 0}},
  };
  PoolingShape shape;
  shape.height = 2;
  shape.width = 3;
  shape.adaptive = true;
  const auto planned = Pooling::Plan(shape);
  ASSERT_TRUE(planned.ok()) << planned.status();
  for (const Edge& edge : edges) {
    std::vector<float> y(1);
    std::vector<int32_t> mask(1);
    (*planned)->Forward(edge.x, absl::MakeSpan(y), absl::MakeSpan(mask));
    EXPECT_EQ(y[0], edge.maximum);
    std::vector<float> dx(6);
    (*planned)->Backward({1.0f}, mask, absl::MakeSpan(dx));
    EXPECT_EQ(dx, edge.dx);
  }
}

TEST(Pooling, LetsNanIntoAverages) {
  PoolingShape shape;
  shape.type = PoolingType::kAverage;
  shape.width = 2;
  shape.adaptive = true;
  const auto planned = Pooling::Plan(shape);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> y(1);
  (*planned)->Forward({1.0f, kNan}, absl::MakeSpan(y), {});
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST(Pooling, RefusesWhatNoWindowFits) {
  PoolingShape shape;
  shape.height = 2;
  shape.window[0].kernel = 4;
  EXPECT_EQ(
      Pooling::Plan(shape).status(),
      absl::InvalidArgumentError("no window of 4 (dilation 1) fits in 2 with paddings 0 and 0"));
  shape.window[0] = {2, 1, 2, 0, 1};
  EXPECT_EQ(Pooling::Plan(shape).status(), absl::InvalidArgumentError("dilation is 2; want 1"));
  shape.batch = 0;
  EXPECT_EQ(Pooling::Plan(shape).status(),
            absl::InvalidArgumentError("images [0, 1, 2, 1]; want extents of 1 to 2^31 - 1"));
}

}  // namespace
}  // namespace fixpoint::kernels
