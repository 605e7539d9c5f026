// Losses of elements, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;

TEST(Losses, OfProbabilities) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        log_loss(Predicted=p, Labels=l) -> (Loss=a) {epsilon=0.0001}
        log_loss_grad(Predicted=p, Labels=l, Loss@GRAD=d) -> (Predicted@GRAD=da) {epsilon=0.0001}
        bce_loss(X=p, Label=l) -> (Out=b)
        bce_loss_grad(X=p, Label=l, Out@GRAD=d) -> (X@GRAD=db)
      })",
                          "p f32[2,3] 0.5 0.25 0.875 0 1 0.0625\nl f32[2,3] 1 0 0.5 0 1 0.25\n" +
                              Drawn("d", {2, 3})),
            "");
}

TEST(Losses, RefuseWhatIsNoProbability) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        bce_loss(X=p, Label=p) -> (Out=b)
      })",
                            "p f32[2] 0.5 1.5\n"),
              HasSubstr("X has 1.5; want probabilities, 0 to 1"));
}

TEST(Losses, DivergencesAreReduced) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        kldiv_loss(X=x, Target=t) -> (Loss=none) {reduction="none"}
        kldiv_loss(X=x, Target=t) -> (Loss=sum) {reduction="sum"}
        kldiv_loss(X=x, Target=t) -> (Loss=mean)
        kldiv_loss(X=x, Target=t) -> (Loss=batchmean) {reduction="batchmean"}
        kldiv_loss_grad(X=x, Target=t, Loss@GRAD=x) -> (X@GRAD=d_none) {reduction="none"}
        kldiv_loss_grad(X=x, Target=t, Loss@GRAD=mean) -> (X@GRAD=d_mean)
      })",
                          Drawn("x", {3, 2}) + "t f32[3,2] 0.5 0 -1 1 0.25 2\n"),
            "");
}

TEST(Losses, LabelsAreSmoothed) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        label_smooth(X=x) -> (Out=a) {epsilon=0.1}
        label_smooth(X=x, PriorDist=p) -> (Out=b) {epsilon=0.25}
        label_smooth_grad(Out@GRAD=x) -> (X@GRAD=d) {epsilon=0.1}
      })",
                          Drawn("x", {2, 4}) + Drawn("p", {1, 4})),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
