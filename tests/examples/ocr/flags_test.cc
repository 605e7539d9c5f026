// The flags of ocr.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/run_binary.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

TEST(OcrFlags, BoxesThatDoNotGrowOrHaveNoEndAreRefused) {
  for (const std::string ratio : {"-3", "0", "nan", "inf", "1e+18"}) {
    const BinaryRun run = RunBinary("examples/ocr/ocr", {"--det=d", "--rec=r", "--dictionary=k",
                                                         "--unclip_ratio=" + ratio, "page.png"});
    EXPECT_EQ(run.exit_code, 2) << ratio;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr("--unclip_ratio=" + ratio + "; want a number above 0"));
  }
}

TEST(OcrFlags, HelpHasNumbersAsTheyAreWritten) {
  const BinaryRun run = RunBinary("examples/ocr/ocr", {"--help"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("are left out. [0.6]\n"));
  EXPECT_THAT(run.out, HasSubstr("[1.5]\n"));
}

}  // namespace
}  // namespace fixpoint
