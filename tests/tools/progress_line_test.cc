#include "tools/progress_line.h"

#include <gtest/gtest.h>

#include <sstream>

#include "absl/time/time.h"

namespace fixpoint {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(ProgressLine, ShowsCountRateAndTimeLeftAndDisappears) {
  std::ostringstream out;
  {
    ProgressLine line("step", 1000, out, /*show=*/true, kStart);
    line.Update(100, kStart + absl::Seconds(10));
    EXPECT_EQ(out.str(), "\rstep 100/1000, 10/s, 1m30s left");
    out.str("");
    line.Update(1000, kStart + absl::Seconds(100));
    EXPECT_EQ(out.str(), "\rstep 1000/1000, 10/s           ");
    out.str("");
  }
  EXPECT_EQ(out.str(), "\r                    \r");
}

TEST(ProgressLine, ShowsNoTimeLeftWhereTheTotalIsNotKnown) {
  std::ostringstream out;
  ProgressLine line("image", 0, out, /*show=*/true, kStart);
  line.Update(3, kStart + absl::Seconds(2));
  EXPECT_EQ(out.str(), "\rimage 3, 1.5/s");
}

TEST(ProgressLine, IsWrittenAtMostTenTimesASecond) {
  std::ostringstream out;
  ProgressLine line("step", 0, out, /*show=*/true, kStart);
  line.Update(0, kStart);
  line.Update(1, kStart + absl::Milliseconds(99));
  EXPECT_EQ(out.str(), "\rstep 0");
  line.Update(2, kStart + absl::Milliseconds(100));
  EXPECT_EQ(out.str(), "\rstep 0\rstep 2, 20/s");
}

TEST(ProgressLine, WritesNothingWhereItIsNotShown) {
  std::ostringstream out;
  {
    ProgressLine line("step", 10, out, /*show=*/false, kStart);
    line.Update(5, kStart + absl::Seconds(1));
  }
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace fixpoint
