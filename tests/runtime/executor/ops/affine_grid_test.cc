// Places of an image that a matrix gives, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(AffineGrid, AndItsGradient) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        affine_grid(Theta=t) -> (Output=g) {output_shape=[2, 3, 4, 5]}
        affine_grid(Theta=t) -> (Output=h) {output_shape=[2, 3, 1, 5], align_corners=false}
        affine_grid_grad(Theta=t, Output@GRAD=g) -> (Theta@GRAD=dt) {output_shape=[2, 3, 4, 5]}
      })",
                          Drawn("t", {2, 2, 3})),
            "");
}

TEST(AffineGrid, RefusesAnotherBatch) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        affine_grid(Theta=t) -> (Output=g) {output_shape=[3, 3, 4, 5]}
      })",
                            Drawn("t", {2, 2, 3})),
              ::testing::HasSubstr("want [2, channels, height, width]"));
}

}  // namespace
}  // namespace fixpoint::executor
