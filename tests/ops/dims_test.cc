#include "ops/dims.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace fixpoint {
namespace {

TEST(Dims, TextOfMoreThanATensorHasIsCutOff) {
  EXPECT_EQ(DimsText({-1, 3}), "[-1, 3]");
  const std::string text = DimsText(std::vector<int64_t>(1000000, 1));
  EXPECT_LT(text.size(), 300u);
  EXPECT_TRUE(absl::EndsWith(text, ", 1, ... 1000000 in all]")) << text;
}

TEST(Dims, AreCounted) {
  EXPECT_EQ(*ElementCount({2, 3, 4}), 24);
  EXPECT_EQ(*ElementCount({}), 1);
  EXPECT_EQ(*ElementCount({-1, 3}), kUnknownDim);
  EXPECT_EQ(*ElementCount({-1, 0}), 0);
}

TEST(Dims, ThatAreTooManyToCountAreAnError) {
  EXPECT_EQ(ElementCount({1LL << 32, 1LL << 31}).status().message(),
            "a tensor [4294967296, 2147483648] has more elements than an int64 holds");
}

TEST(Dims, MayBeEqualWhereUnknown) {
  EXPECT_TRUE(MayBeEqual({-1, 3}, {7, 3}));
  EXPECT_FALSE(MayBeEqual({7, 3}, {8, 3}));
  EXPECT_FALSE(MayBeEqual({7}, {7, 1}));
}

TEST(Dims, AxesCountFromEitherEnd) {
  EXPECT_EQ(*NormalizeAxis(-1, 4), 3);
  EXPECT_EQ(*NormalizeAxis(0, 4), 0);
  EXPECT_EQ(NormalizeAxis(4, 4).status().message(),
            "axis 4 is not one of a tensor of 4 dimensions; want -4 to 3");
}

}  // namespace
}  // namespace fixpoint
