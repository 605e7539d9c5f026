// Softmax and the losses after it, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(LogSoftmax, CountsNoLogitAsLessThan64BelowTheLargest) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        log_softmax(X=x) -> (Out=y)
      })",
                          "x f32[2,2] 0 -100 1000 0\n"),
            "");
}

TEST(SigmoidCrossEntropy, HasALabelForEachLogit) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        sigmoid_cross_entropy_with_logits(X=x, Label=label) -> (Out=loss) {ignore_index=-1}
      })",
                          Drawn("x", {2, 3}) + "label f32[2,3] 0 1 0.25 -1 1 0\n"),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
