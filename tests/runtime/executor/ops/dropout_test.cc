// dropout and dither, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// Numbers are drawn in row-major order, whatever order the elements lie in.
TEST(Dropout, OfAnImageDropsTheSameElements) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        dropout(X=y) -> (Out=z, Mask=m) {dropout_prob=0.4, dropout_implementation="upscale_in_train"}
        dropout_grad(Mask=m, Out@GRAD=y) -> (X@GRAD=dy) {
          dropout_prob=0.4, dropout_implementation="upscale_in_train"}
        dropout(X=y) -> (Out=tested, Mask=n) {dropout_prob=0.4, is_test=true}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}), 1e-5,
                          {"y", "z", "m", "dy", "tested"}),
            "");
}

TEST(Dither, OfAnImageAddsTheSameNumbers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        dither(X=y) -> (Out=z) {seed=5}
      })",
                          Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}), 1e-5, {"z"}),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
