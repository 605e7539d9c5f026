#include "runtime/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fixpoint {
namespace {

constexpr int kInfinity = 0x7c00;

TEST(Half, OfEachFloatThatIsOneIsItself) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatOfHalf(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(HalfOfFloat(value), bits);
  }
}

TEST(Half, IsTheNearestWithTiesToEven) {
  for (int bits = 0; bits + 1 < kInfinity; ++bits) {
    const float below = FloatOfHalf(static_cast<uint16_t>(bits));
    const float middle = (below + FloatOfHalf(static_cast<uint16_t>(bits + 1))) / 2;
    EXPECT_EQ(HalfOfFloat(middle), bits + bits % 2);
    EXPECT_EQ(HalfOfFloat(std::nextafter(middle, 0.0f)), bits);
    EXPECT_EQ(HalfOfFloat(std::nextafter(middle, 1e6f)), bits + 1);
  }
  EXPECT_EQ(HalfOfFloat(65519.996f), kInfinity - 1);
  EXPECT_EQ(HalfOfFloat(65520.0f), kInfinity);
  EXPECT_EQ(HalfOfFloat(-1e30f), 0x8000 + kInfinity);
}

}  // namespace
}  // namespace fixpoint
