#include "tests/runtime/executor/both_backends.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double DistanceOf(absl::Span<const float> a, absl::Span<const float> b) {
  const int64_t size = a.size();
  return Distance(Tensor::FromValues<float>({size}, a), Tensor::FromValues<float>({size}, b));
}

TEST(Distance, IsOverTheLargestElementEvenIfThatIsEqual) {
  EXPECT_EQ(DistanceOf({-128, 0}, {-128, 1}), 1.0 / 128);
  EXPECT_EQ(DistanceOf({0.25, 0}, {0.25, 0.5}), 0.5);
}

TEST(Distance, IsZeroBetweenWhatIsNotFiniteAlike) {
  EXPECT_EQ(DistanceOf({kNan, kInfinity, 2}, {kNan, kInfinity, 3}), 1.0 / 3);
  EXPECT_EQ(DistanceOf({kNan}, {0}), kInfinity);
  EXPECT_EQ(DistanceOf({kInfinity}, {-kInfinity}), kInfinity);
}

}  // namespace
}  // namespace fixpoint::executor
