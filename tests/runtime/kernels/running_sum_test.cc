// Running sums along each axis of a small tensor.

#include "runtime/kernels/running_sum.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

std::vector<float> Sums(const Lines& lines, const RunningSumRule& rule, std::vector<float> x) {
  RunningSum(lines, rule, x, absl::MakeSpan(x));
  return x;
}

TEST(RunningSum, IsOfTheElementsUpToEach) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Sums({2, 3, 1}, {}, x), (std::vector<float>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(Sums({1, 2, 3}, {}, x), (std::vector<float>{1, 2, 3, 5, 7, 9}));
}

TEST(RunningSum, MayLeaveTheElementOutOrBeginAtTheEnd) {
  const std::vector<float> x = {1, 2, 3, 4};
  EXPECT_EQ(Sums({1, 4, 1}, {true, false}, x), (std::vector<float>{0, 1, 3, 6}));
  EXPECT_EQ(Sums({1, 4, 1}, {false, true}, x), (std::vector<float>{10, 9, 7, 4}));
  EXPECT_EQ(Sums({1, 4, 1}, {true, true}, x), (std::vector<float>{9, 7, 4, 0}));
}

// 2^24 + 1 is no float.
TEST(RunningSum, IsInDouble) {
  EXPECT_EQ(Sums({1, 3, 1}, {}, {16777216, 1, 1}),
            (std::vector<float>{16777216, 16777216, 16777218}));
}

}  // namespace
}  // namespace fixpoint::kernels
