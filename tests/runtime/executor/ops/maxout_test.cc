// The largest of adjacent channels, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Maxout, AndItsGradient) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        maxout(X=x) -> (Out=a) {groups=2}
        maxout_grad(X=x, Out=a, Out@GRAD=a) -> (X@GRAD=da) {groups=2}
        maxout(X=x) -> (Out=b) {groups=3, axis=-1}
        maxout(X=equal) -> (Out=c) {groups=2}
        maxout_grad(X=equal, Out=c, Out@GRAD=c) -> (X@GRAD=dc) {groups=2}
        maxout(X=codes) -> (Out=d) {groups=3}
      })",
                    Drawn("x", {2, 6, 2, 3}) + "equal f32[1,4] 1 1 -2 -2\ncodes i8[1,3] -5 7 3\n"),
      "");
}

TEST(Maxout, RefusesGroupsThatDoNotDivideTheChannels) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        maxout(X=x) -> (Out=a) {groups=4}
      })",
                            Drawn("x", {2, 6})),
              ::testing::HasSubstr("want a divisor of the 6 channels"));
}

}  // namespace
}  // namespace fixpoint::executor
