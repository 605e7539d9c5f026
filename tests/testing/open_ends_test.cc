#include "tests/testing/open_ends.h"

#include <gtest/gtest.h>

namespace fixpoint {
namespace {

TEST(OpenEnds, CutOffWhatGoesOnAfterThem) {
  EXPECT_EQ(WithOpenEndsOf("there are ...\nb\n", "there are a, c\nb\n"), "there are ...\nb\n");
}

TEST(OpenEnds, LeaveEverythingElseAsItIs) {
  EXPECT_EQ(WithOpenEndsOf("there are ...\nb\n", "there is a\nb\n"), "there is a\nb\n");
  EXPECT_EQ(WithOpenEndsOf("there are ...\nb\n", "there are a\nc\n"), "there are ...\nc\n");
  EXPECT_EQ(WithOpenEndsOf("there are ...\n", "first\nthere are a\n"), "first\nthere are a\n");
  EXPECT_EQ(WithOpenEndsOf("", "there are a\n"), "there are a\n");
}

}  // namespace
}  // namespace fixpoint
