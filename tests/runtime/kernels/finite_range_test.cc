#include "runtime/kernels/finite_range.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace fixpoint::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(FiniteRange, HoldsZero) {
  EXPECT_EQ(FindFiniteRange({}).smallest, 0);
  EXPECT_EQ(FindFiniteRange({2, 5}).smallest, 0);
  EXPECT_EQ(FindFiniteRange({2, 5}).largest, 5);
  EXPECT_EQ(FindFiniteRange({-5, -2}).smallest, -5);
  EXPECT_EQ(FindFiniteRange({-5, -2}).largest, 0);
}

// Wherever the ends are, in whole vectors and after them, with what is not finite around them.
TEST(FiniteRange, IsFoundAnywhere) {
  for (size_t size = 3; size < 200; size += 7) {
    for (size_t at = 1; at + 1 < size; ++at) {
      std::vector<float> x(size, 0.5f);
      x[at - 1] = -3e38f;
      x[at] = kNan;
      x[at + 1] = 3e38f;
      x[size / 2] = x[size / 2] == 0.5f ? kInfinity : x[size / 2];
      x[size / 3] = x[size / 3] == 0.5f ? -kInfinity : x[size / 3];
      const FiniteRange range = FindFiniteRange(x);
      ASSERT_EQ(range.smallest, -3e38f) << at << " of " << size;
      ASSERT_EQ(range.largest, 3e38f) << at << " of " << size;
    }
  }
}

}  // namespace
}  // namespace fixpoint::kernels
