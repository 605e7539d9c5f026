#include "runtime/kernels/ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Top {
  std::vector<float> values;
  std::vector<int64_t> indices;
};

Top TopOf(const Lines& lines, int64_t k, TopK::Order order, const std::vector<float>& x) {
  const auto planned = TopK::Plan(lines, k, order);
  EXPECT_TRUE(planned.ok()) << planned.status();
  Top top = {std::vector<float>(lines.count() * k), std::vector<int64_t>(lines.count() * k)};
  (*planned)->Run(x, absl::MakeSpan(top.values), absl::MakeSpan(top.indices));
  return top;
}

TEST(TopK, TakesTheFirstOfEqualOnes) {
  const Top top = TopOf({2, 4, 1}, 3, TopK::Order::kDescending, {1, 3, 3, 2, 5, 5, 5, 5});
  EXPECT_EQ(top.values, (std::vector<float>{3, 3, 2, 5, 5, 5}));
  EXPECT_EQ(top.indices, (std::vector<int64_t>{1, 2, 3, 0, 1, 2}));
}

TEST(TopK, OrdersUpwardsToo) {
  const Top top = TopOf({1, 5, 1}, 5, TopK::Order::kAscending, {2, -kInfinity, 2, 1, kNan});
  EXPECT_EQ(top.indices, (std::vector<int64_t>{1, 3, 0, 2, 4}));
}

TEST(TopK, PutsANanAboveAll) {
  const Top top = TopOf({1, 5, 1}, 3, TopK::Order::kDescending, {1, kNan, kInfinity, kNan, 2});
  EXPECT_EQ(top.indices, (std::vector<int64_t>{1, 3, 2}));
}

// [3, 2]: the lines are the columns.
TEST(TopK, GoesAlongAnyAxis) {
  const Lines lines = {1, 3, 2};
  const Top top = TopOf(lines, 2, TopK::Order::kDescending, {1, 6, 2, 5, 3, 4});
  EXPECT_EQ(top.values, (std::vector<float>{3, 6, 2, 5}));
  EXPECT_EQ(top.indices, (std::vector<int64_t>{2, 0, 1, 1}));
  const auto planned = TopK::Plan(lines, 2, TopK::Order::kDescending);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::vector<float> dx(6);
  (*planned)->Backward(top.indices, {10, 20, 30, 40}, absl::MakeSpan(dx));
  EXPECT_EQ(dx, (std::vector<float>{0, 20, 30, 40, 10, 0}));
}

TEST(TopK, RefusesMoreThanThereAre) {
  EXPECT_EQ(TopK::Plan({2, 3, 1}, 4, TopK::Order::kDescending).status(),
            absl::InvalidArgumentError("k is 4; want 1 to 3, the size of the axis"));
}

TEST(ArgMax, FindsTheFirst) {
  std::vector<int64_t> places(4);
  ArgMax({4, 3, 1}, {1, 3, 3, kNan, 1, 2, 1, kNan, 2, -kInfinity, -kInfinity, -kInfinity},
         absl::MakeSpan(places));
  EXPECT_EQ(places, (std::vector<int64_t>{1, 0, 2, 0}));
  ArgMax({2, 3, 2}, {1, 6, 2, 5, 3, 4, 9, 7, 8, 8, 7, 9}, absl::MakeSpan(places));
  EXPECT_EQ(places, (std::vector<int64_t>{2, 0, 0, 2}));
  std::vector<int32_t> narrow(4);
  ArgMin({2, 3, 2}, {1, 6, 2, 5, 3, 4, 9, 7, 8, 8, 7, 9}, absl::MakeSpan(narrow));
  EXPECT_EQ(narrow, (std::vector<int32_t>{0, 2, 2, 0}));
}

TEST(Accuracy, CountsLabelsAmongTheBest) {
  EXPECT_EQ(CountCorrect({1, 2, 3, 4, 5, 6}, 2, {2, 2, 5}), 2);
  EXPECT_EQ(CountCorrect({}, 5, {}), 0);
}

}  // namespace
}  // namespace fixpoint::kernels
