// Arithmetic of two tensors and its gradients against plain loops in double.

#include "runtime/kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

using Function = std::function<double(double x, double y)>;

struct Op {
  std::string name;
  Arithmetic op;
  Function value;
  Function by_x;
  Function by_y;
};

const Op kOps[] = {
    {"Add", Arithmetic::kAdd, [](double x, double y) { return x + y; },
     [](double, double) { return 1; }, [](double, double) { return 1; }},
    {"Sub", Arithmetic::kSub, [](double x, double y) { return x - y; },
     [](double, double) { return 1; }, [](double, double) { return -1; }},
    {"Mul", Arithmetic::kMul, [](double x, double y) { return x * y; },
     [](double, double y) { return y; }, [](double x, double) { return x; }},
    {"Div", Arithmetic::kDiv, [](double x, double y) { return x / y; },
     [](double, double y) { return 1 / y; }, [](double x, double y) { return -x / (y * y); }},
    {"Max", Arithmetic::kMax, [](double x, double y) { return x > y ? x : y; },
     [](double x, double y) { return x > y; }, [](double x, double y) { return !(x > y); }},
    {"Min", Arithmetic::kMin, [](double x, double y) { return x < y ? x : y; },
     [](double x, double y) { return x < y; }, [](double x, double y) { return !(x < y); }},
    {"Pow", Arithmetic::kPow, [](double x, double y) { return std::pow(x, y); },
     [](double x, double y) { return y * std::pow(x, y - 1); },
     [](double x, double y) { return std::pow(x, y) * std::log(x); }},
};

// Dims, and the same among 1s with the rank of the result.
struct Case {
  std::string name;
  ElementwiseShape shape;
  Dims x;
  Dims y;
};

const Case kCases[] = {
    {"Equal", {{3, 5, 7}, {3, 5, 7}}, {3, 5, 7}, {3, 5, 7}},
    {"Scalars", {{}, {}}, {}, {}},
    {"OneElement", {{1, 1}, {1}}, {1, 1}, {1, 1}},
    {"Scalar", {{4, 9}, {1}}, {4, 9}, {1, 1}},
    {"ScalarX", {{1}, {4, 9}}, {1, 1}, {4, 9}},
    {"Row", {{6, 37}, {37}}, {6, 37}, {1, 37}},
    {"RowX", {{37}, {6, 37}}, {1, 37}, {6, 37}},
    {"ShortRows", {{27, 6}, {6}}, {27, 6}, {1, 6}},
    {"ShortRowsX", {{6}, {3, 9, 6}}, {1, 1, 6}, {3, 9, 6}},
    {"FewShortRows", {{5, 3}, {3}}, {5, 3}, {1, 3}},
    {"Column", {{6, 37}, {6, 1}}, {6, 37}, {6, 1}},
    {"ColumnByAxis", {{6, 37}, {6}, 0}, {6, 37}, {6, 1}},
    {"Channels", {{2, 3, 4, 5}, {3}, 1}, {2, 3, 4, 5}, {1, 3, 1, 1}},
    {"ChannelsWithTrailingOnes", {{2, 3, 4, 5}, {3, 1, 1}, 1}, {2, 3, 4, 5}, {1, 3, 1, 1}},
    {"Middle", {{2, 3, 4, 5}, {3, 4}, 1}, {2, 3, 4, 5}, {1, 3, 4, 1}},
    {"Outer", {{5, 1}, {1, 20}}, {5, 1}, {1, 20}},
    {"BothRepeat", {{2, 1, 3, 1, 2}, {1, 4, 3, 2, 1}}, {2, 1, 3, 1, 2}, {1, 4, 3, 2, 1}},
    {"OnesInside", {{2, 1, 3}, {2, 1, 3}}, {2, 1, 3}, {2, 1, 3}},
};

int64_t SizeOf(const Dims& dims) {
  int64_t size = 1;
  for (const int64_t extent : dims) size *= extent;
  return size;
}

// Where element `index` of the result is in a tensor of the same rank that repeats along its 1s.
int64_t PlaceIn(const Dims& dims, const Dims& index) {
  int64_t place = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    place = place * dims[i] + (dims[i] == 1 ? 0 : index[i]);
  }
  return place;
}

// Calls f(i, x_i, y_i) for each element of the result.
template <typename F>
void ForEach(const Case& c, F f) {
  Dims out = c.x;
  for (size_t i = 0; i < out.size(); ++i) out[i] = std::max(c.x[i], c.y[i]);
  Dims index(out.size(), 0);
  for (int64_t i = 0; i < SizeOf(out); ++i) {
    int64_t rest = i;
    for (int axis = static_cast<int>(out.size()) - 1; axis >= 0; --axis) {
      index[axis] = rest % out[axis];
      rest /= out[axis];
    }
    f(i, PlaceIn(c.x, index), PlaceIn(c.y, index));
  }
}

// Positive, so that powers and their logarithms are defined; some of x and y are equal.
std::vector<float> Values(int64_t size, int64_t step) {
  std::vector<float> values(size);
  for (int64_t i = 0; i < size; ++i) values[i] = 0.25f + static_cast<float>(i * step % 11) / 4;
  return values;
}

class Elementwises : public testing::TestWithParam<std::tuple<Op, Case>> {};

TEST_P(Elementwises, EqualPlainLoops) {
  const auto& [op, c] = GetParam();
  const auto planned = Elementwise::Plan(op.op, c.shape);
  ASSERT_TRUE(planned.ok()) << planned.status();
  Elementwise& elementwise = **planned;
  const std::vector<float> x = Values(SizeOf(c.x), 3);
  const std::vector<float> y = Values(SizeOf(c.y), 5);
  const int64_t size = SizeOf(elementwise.out_dims());
  std::vector<float> out(size);
  elementwise.Run(x, y, absl::MakeSpan(out));
  std::vector<float> dout(size);
  for (int64_t i = 0; i < size; ++i) dout[i] = std::sin(static_cast<float>(i));
  std::vector<float> dx(x.size());
  std::vector<float> dy(y.size());
  elementwise.Backward(x, y, dout, absl::MakeSpan(dx), absl::MakeSpan(dy));

  std::vector<double> expected_dx(x.size());
  std::vector<double> expected_dy(y.size());
  std::vector<double> size_of_dx(x.size());
  std::vector<double> size_of_dy(y.size());
  ForEach(c, [&, &op = op](int64_t i, int64_t x_i, int64_t y_i) {
    const double value = op.value(x[x_i], y[y_i]);
    EXPECT_NEAR(out[i], value, FLT_EPSILON * std::fabs(value));
    const double to_x = dout[i] * op.by_x(x[x_i], y[y_i]);
    const double to_y = dout[i] * op.by_y(x[x_i], y[y_i]);
    expected_dx[x_i] += to_x;
    expected_dy[y_i] += to_y;
    size_of_dx[x_i] += std::fabs(to_x);
    size_of_dy[y_i] += std::fabs(to_y);
  });
  // Each term has up to four operations of floats; the sum is rounded once.
  for (size_t i = 0; i < dx.size(); ++i) {
    EXPECT_NEAR(dx[i], expected_dx[i], 3 * FLT_EPSILON * size_of_dx[i]) << i;
  }
  for (size_t i = 0; i < dy.size(); ++i) {
    EXPECT_NEAR(dy[i], expected_dy[i], 3 * FLT_EPSILON * size_of_dy[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Elementwises,
                         testing::Combine(testing::ValuesIn(kOps), testing::ValuesIn(kCases)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + std::get<1>(info.param).name;
                         });

TEST(Elementwise, WorksInPlace) {
  const auto planned = Elementwise::Plan(Arithmetic::kMul, {{2, 3}, {3}});
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::vector<float> y = {2, 3, 5};
  std::vector<float> out = x;
  (*planned)->Run(out, y, absl::MakeSpan(out));
  EXPECT_EQ(out, (std::vector<float>{2, 6, 15, 8, 15, 30}));
  std::vector<float> dx = {1, 1, 1, 1, 1, 1};
  std::vector<float> dy(3);
  (*planned)->Backward(x, y, dx, absl::MakeSpan(dx), absl::MakeSpan(dy));
  EXPECT_EQ(dx, (std::vector<float>{2, 3, 5, 2, 3, 5}));
  EXPECT_EQ(dy, (std::vector<float>{5, 7, 9}));
}

TEST(Elementwise, NeedsNoOperandsForTheGradientOfASum) {
  const auto planned = Elementwise::Plan(Arithmetic::kSub, {{2, 3}, {2}, 0});
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> dy(2);
  (*planned)->Backward({}, {}, {1, 2, 3, 4, 5, 6}, {}, absl::MakeSpan(dy));
  EXPECT_EQ(dy, (std::vector<float>{-6, -15}));
}

TEST(Elementwise, TakesANanForTheLargerAndTheSmaller) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Arithmetic op : {Arithmetic::kMax, Arithmetic::kMin}) {
    const auto planned = Elementwise::Plan(op, {{3}, {3}});
    ASSERT_TRUE(planned.ok()) << planned.status();
    std::vector<float> out(3);
    (*planned)->Run({kNan, 1, kNan}, {1, kNan, kNan}, absl::MakeSpan(out));
    for (const float value : out) EXPECT_TRUE(std::isnan(value));
  }
}

// A sum of floats one by one would lose every other 1.
TEST(Elementwise, LosesNothingInLongSums) {
  constexpr int64_t kRows = int64_t{1} << 25;
  const auto planned = Elementwise::Plan(Arithmetic::kAdd, {{kRows, 1}, {1}});
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::vector<float> dout(kRows, 1.0f);
  std::vector<float> dy(1);
  (*planned)->Backward({}, {}, dout, {}, absl::MakeSpan(dy));
  EXPECT_EQ(dy[0], static_cast<float>(kRows));
}

TEST(Elementwise, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Elementwise::Plan(Arithmetic::kAdd, {{2, 3}, {2}}).status(),
            absl::InvalidArgumentError("X [2, 3] and Y [2] do not broadcast: want equal dimensions "
                                       "or 1, got 3 and 2"));
  EXPECT_EQ(Elementwise::Plan(Arithmetic::kAdd, {{2, 3}, {3}, 2}).status(),
            absl::InvalidArgumentError("axis 2 does not place [3] inside 2 dimensions"));
  EXPECT_EQ(Elementwise::Plan(Arithmetic::kAdd, {{2, 0}, {2, 0}}).status(),
            absl::InvalidArgumentError("X [2, 0]; want extents of 1 to 2^31 - 1"));
}

}  // namespace
}  // namespace fixpoint::kernels
