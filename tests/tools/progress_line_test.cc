#include "tools/progress_line.h"

#include <gtest/gtest.h>

#include <sstream>

namespace fixpoint {
namespace {

TEST(ProgressText, TellsHowFarHowWellHowFastAndHowLong) {
  EXPECT_EQ(ProgressText({120, 1000, 0.312, 0.91, 1229.6, 7.4}),
            "step 120/1000  loss 0.3120  accuracy 91.00 %  1230 samples/s  0:07 left");
  EXPECT_EQ(ProgressText({1, 9, 2.5, {}, 0.4, 3907}),
            "step 1/9  loss 2.5000  0 samples/s  1:05:07 left");
}

TEST(ProgressLine, PutsATextInThePlaceOfTheLast) {
  std::ostringstream out;
  ProgressLine line(&out, ProgressLine::Kind::kReplaced);
  EXPECT_TRUE(line.IsDue());
  line.Show("longer");
  EXPECT_FALSE(line.IsDue());
  line.Show("text");
  line.Clear();
  line.Clear();
  EXPECT_EQ(out.str(), "\rlonger\rtext  \r    \r");
}

TEST(ProgressLine, WhereThereIsNoTerminalALogGrowsSlowly) {
  std::ostringstream out;
  ProgressLine line(&out, ProgressLine::Kind::kLogged);
  EXPECT_FALSE(line.IsDue());
  line.Show("first");
  line.Show("second");
  line.Clear();
  EXPECT_EQ(out.str(), "first\nsecond\n");
}

}  // namespace
}  // namespace fixpoint
