// Which averages of codes are computed on integers.

#include "ops/codes/averaged_codes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

bool Fit(const std::string& attributes, int64_t height, int64_t width) {
  const Program program = ProgramFromText(
      absl::StrCat("pool2d(X=x) -> (Out=y) {pooling_type=\"avg\", ", attributes, "}"));
  const Op& op = *program.block(0).first_op();
  return SumsOfWindowsFit(OpAttributes(op, *FindOpSchema(op.type()), EraOf(program)),
                          {height, width});
}

// 2^31 / 255 is 8,421,504.5.
TEST(SumsOfWindows, AreThoseOfAWholeImage) {
  const std::string global = "ksize=[1, 1], global_pooling=true";
  EXPECT_TRUE(Fit(global, 1, 8421504));
  EXPECT_FALSE(Fit(global, 1, 8421505));
  EXPECT_TRUE(Fit(global, 8421504, 1));
  EXPECT_FALSE(Fit(global, 8421505, 1));
  EXPECT_TRUE(Fit(global, 2901, 2902));
  EXPECT_FALSE(Fit(global, 2902, 2902));
  EXPECT_FALSE(Fit(global, INT64_MAX, INT64_MAX));
}

TEST(SumsOfWindows, AreThoseOfWindowsOfALargeImage) {
  EXPECT_TRUE(Fit("ksize=[2, 2]", 100000, 100000));
  EXPECT_FALSE(Fit("ksize=[3000, 3000]", 100000, 100000));
  EXPECT_TRUE(Fit("ksize=[3000, 3000]", 2901, 2902));
}

// An output of 3 over 10 has windows of 4; one of 10 over 10,000 has 1,000.
TEST(SumsOfWindows, AreThoseOfAnAdaptiveGrid) {
  EXPECT_TRUE(Fit("ksize=[10, 10], adaptive=true", 10000, 10000));
  EXPECT_FALSE(Fit("ksize=[3, 3], adaptive=true", 10000, 10000));
}

TEST(SumsOfWindows, MayFitWhereTheImageIsNotKnown) {
  EXPECT_TRUE(Fit("ksize=[1, 1], global_pooling=true", -1, 8421505));
  EXPECT_TRUE(Fit("ksize=[3000, 3000]", 8421505, -1));
}

}  // namespace
}  // namespace fixpoint
