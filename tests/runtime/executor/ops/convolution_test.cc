// Convolutions, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Convolution, AndItsGradients) {
  EXPECT_EQ(OpDifferences(
                R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y) {strides=[2, 1], paddings=[1, 0], groups=2}
        conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
          strides=[2, 1], paddings=[1, 0], groups=2}
      })",
                Drawn("x", {2, 4, 7, 6}) + Drawn("w", {6, 2, 3, 2}) + Drawn("dy", {2, 6, 4, 5})),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
