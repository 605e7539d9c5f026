// Which averages of codes are computed on integers.

#include "ops/codes/averaged_codes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "proto/program/op_builder.h"

namespace fixpoint {
namespace {

bool Fit(const std::vector<int32_t>& ksize, int64_t height, int64_t width,
         absl::string_view flag = "") {
  OpBuilder builder("pool2d");
  builder.IntsAttr("ksize", ksize);
  if (!flag.empty()) builder.BoolAttr(flag, true);
  const OpDesc pooling = builder.Build();
  return SumsOfWindowsFit(*OpAttributes::Of(pooling, Era::kPaddle2), {height, width});
}

// 2^31 / 255 is 8,421,504.5.
TEST(SumsOfWindows, AreThoseOfAWholeImage) {
  EXPECT_TRUE(Fit({1, 1}, 1, 8421504, "global_pooling"));
  EXPECT_FALSE(Fit({1, 1}, 1, 8421505, "global_pooling"));
  EXPECT_TRUE(Fit({1, 1}, 8421504, 1, "global_pooling"));
  EXPECT_FALSE(Fit({1, 1}, 8421505, 1, "global_pooling"));
  EXPECT_TRUE(Fit({1, 1}, 2901, 2902, "global_pooling"));
  EXPECT_FALSE(Fit({1, 1}, 2902, 2902, "global_pooling"));
  EXPECT_FALSE(Fit({1, 1}, INT64_MAX, INT64_MAX, "global_pooling"));
}

TEST(SumsOfWindows, AreThoseOfWindowsOfALargeImage) {
  EXPECT_TRUE(Fit({2, 2}, 100000, 100000));
  EXPECT_FALSE(Fit({3000, 3000}, 100000, 100000));
  EXPECT_TRUE(Fit({3000, 3000}, 2901, 2902));
}

// An output of 3 over 10 has windows of 4; one of 10 over 10,000 has 1,000.
TEST(SumsOfWindows, AreThoseOfAnAdaptiveGrid) {
  EXPECT_TRUE(Fit({10, 10}, 10000, 10000, "adaptive"));
  EXPECT_FALSE(Fit({3, 3}, 10000, 10000, "adaptive"));
}

TEST(SumsOfWindows, MayFitWhereTheImageIsNotKnown) {
  EXPECT_TRUE(Fit({1, 1}, -1, 8421505, "global_pooling"));
  EXPECT_TRUE(Fit({3000, 3000}, 8421505, -1));
}

}  // namespace
}  // namespace fixpoint
