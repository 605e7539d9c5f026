// Softmax and the losses after it, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

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

TEST(CrossEntropy, HasTheDimensionsOfItsLabels) {
  for (const char* labels : {"label i64[3] 1 0 3\n", "label i64[3,1] 1 0 3\n"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        softmax(X=x) -> (Out=p)
        cross_entropy(X=p, Label=label) -> (Y=a)
        cross_entropy_grad(X=p, Label=label, Y@GRAD=a) -> (X@GRAD=da)
        cross_entropy2(X=p, Label=label) -> (Y=b, XShape=s, MatchX=m)
        cross_entropy_grad2(Label=label, MatchX=m, XShape=s, Y@GRAD=b) -> (X@GRAD=db)
      })",
                            Drawn("x", {3, 4}) + labels, 1e-5, {"a", "da", "b", "m", "db"}),
              "");
  }
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
