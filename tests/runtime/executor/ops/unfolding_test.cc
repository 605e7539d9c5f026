// Windows of images as columns, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Unfold, AndItsGradient) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        unfold(X=x) -> (Y=y) {kernel_sizes=[3, 2], strides=[1, 2], paddings=[1, 0, 2, 1],
          dilations=[2, 1]}
        unfold_grad(X=x, Y@GRAD=y) -> (X@GRAD=dx) {kernel_sizes=[3, 2], strides=[1, 2],
          paddings=[1, 0, 2, 1], dilations=[2, 1]}
        unfold(X=codes) -> (Y=z) {kernel_sizes=[1, 2], strides=[1, 1], paddings=[0, 1, 0, 0],
          dilations=[1, 1]}
      })",
                          Drawn("x", {2, 3, 5, 6}) + "codes i8[1,1,2,2] 1 2 3 4\n"),
            "");
}

TEST(Fold, AndItsGradient) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fold(X=x) -> (Y=y) {output_sizes=[5, 6], kernel_sizes=[3, 2], strides=[1, 2],
          paddings=[1, 0, 2, 1], dilations=[2, 1]}
        fold_grad(X=x, Y@GRAD=y) -> (X@GRAD=dx) {output_sizes=[5, 6], kernel_sizes=[3, 2],
          strides=[1, 2], paddings=[1, 0, 2, 1], dilations=[2, 1]}
      })",
                          Drawn("x", {2, 18, 12})),
            "");
}

TEST(Fold, RefusesColumnsOfOtherImages) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        fold(X=x) -> (Y=y) {output_sizes=[5, 6], kernel_sizes=[1, 1], strides=[1, 1],
          paddings=[0, 0, 0, 0], dilations=[1, 1]}
      })",
                            Drawn("x", {1, 2, 29})),
              ::testing::HasSubstr("X is [1, 2, 29]; want [N, C * 1, 30]"));
}

TEST(Unfold, RefusesAWindowThatIsTooLarge) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        unfold(X=x) -> (Y=y) {kernel_sizes=[4, 1], strides=[1, 1], paddings=[0, 0, 0, 0],
          dilations=[2, 1]}
      })",
                            Drawn("x", {1, 1, 5, 6})),
              ::testing::HasSubstr("want at least the 7 places that a window covers"));
}

}  // namespace
}  // namespace fixpoint::executor
