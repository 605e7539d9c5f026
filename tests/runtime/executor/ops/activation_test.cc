// Functions of one tensor, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// As in the reference, its gradient at 0 is that of positive values.
TEST(LeakyRelu, PassesGradientsOfZeros) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        leaky_relu_grad(X=x, Out@GRAD=dy) -> (X@GRAD=dx) {alpha=0.5}
      })",
                          "x f32[3] 0 -0 -1\ndy f32[3] 1 1 1\n", 0),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
