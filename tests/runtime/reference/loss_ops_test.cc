// Softmax and losses, worked by hand or observed in the reference.

#include <gtest/gtest.h>

#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

TEST(Softmax, IsAlongItsAxis) {
  EXPECT_EQ(RunOps("softmax(X=x) -> (Out=y) {axis=0}", "x f32[2,2] 0 0 0 1.0986122887\n"),
            "y f32[2,2] 0.5 0.25 0.5 0.75\n");
}

TEST(Softmax, LetsNoLogitBeFurtherBelowThan64) {
  EXPECT_EQ(RunOps("softmax(X=x) -> (Out=y)", "x f32[2] 0 -100\n"), "y f32[2] 1 1.60381094e-28\n");
  EXPECT_EQ(RunOps("softmax_with_cross_entropy(Logits=x, Label=label) -> (Softmax=s, Loss=loss)",
                   "x f32[1,3] 0 -100 3\nlabel i64[1,1] 1\n"),
            "loss f32[1,1] 64.048584\ns f32[1,3] 0.0474258736 1.52774874e-28 0.952574134\n");
  EXPECT_EQ(RunOps("log_softmax(X=x) -> (Out=y)", "x f32[2] 0 -100\n"), "y f32[2] 0 -64\n");
}

TEST(Losses, AreMinusTheLogarithmOfTheProbability) {
  EXPECT_EQ(RunOps("cross_entropy(X=x, Label=label) -> (Y=y)",
                   "x f32[3,2] 0.25 0.75 1 0 0.5 0.5\nlabel i64[3,1] 0 1 -100\n"),
            "y f32[3,1] 1.38629436 1.00000002e+20 0\n");
}

TEST(Losses, CrossEntropy2KeepsWhatItsGradientReads) {
  EXPECT_EQ(RunOps("cross_entropy2(X=x, Label=label) -> (Y=y, MatchX=match, XShape=shape)",
                   "x f32[1,2] 0.25 0.75\nlabel i64[1,1] 0\n"),
            "match f32[1,1] 0.25\nshape f32[1,2,0] \ny f32[1,1] 1.38629436\n");
}

TEST(Losses, SigmoidCrossEntropyHasALabelForEachLogit) {
  EXPECT_EQ(RunOps("sigmoid_cross_entropy_with_logits(X=x, Label=label) -> (Out=loss) "
                   "{ignore_index=-1}",
                   "x f32[2,2] 0 100 100 5\nlabel f32[2,2] 1 0 0.75 -1\n"),
            "loss f32[2,2] 0.693147182 100 25 0\n");
}

TEST(Losses, OfElements) {
  EXPECT_EQ(RunOps(R"(
    label_smooth(X=p) -> (Out=a) {epsilon=0.5}
    label_smooth(X=p, PriorDist=prior) -> (Out=b) {epsilon=0.5}
    log_loss(Predicted=p, Labels=l) -> (Loss=c) {epsilon=0.5}
    bce_loss(X=p, Label=l) -> (Out=d)
    kldiv_loss(X=p, Target=l) -> (Loss=e)
  )",
                   "p f32[2,2] 0.5 0.25 1 0\nl f32[2,2] 1 0 0 0\nprior f32[2] 0.25 0.75\n"),
            "a f32[2,2] 0.5 0.375 0.75 0.25\nb f32[2,2] 0.375 0.5 0.625 0.375\n"
            "c f32[2,2] -0 -0.223143548 0.693147182 -0.405465096\n"
            "d f32[2,2] 0.693147182 0.287682086 100 0\ne f32[1] -0.125\n");
}

// What a mean over nothing is, a number and not a list of losses.
TEST(Losses, OfNothingAreReduced) {
  EXPECT_EQ(RunOps(R"(
    kldiv_loss(X=x, Target=x) -> (Loss=a) {reduction="mean"}
    isnan_v2(X=a) -> (Out=a)
    kldiv_loss(X=x, Target=x) -> (Loss=b) {reduction="batchmean"}
    isnan_v2(X=b) -> (Out=b)
    kldiv_loss_grad(X=x, Target=x, Loss@GRAD=d) -> (X@GRAD=dx) {reduction="mean"}
  )",
                   "x f32[0,2]\nd f32[1] 1\n"),
            "a bool[1] 1\nb bool[1] 1\ndx f32[0,2] \n");
}

TEST(Losses, RefuseALabelThatIsNoClass) {
  EXPECT_EQ(RunOps("cross_entropy(X=x, Label=label) -> (Y=y)",
                   "x f32[1,2] 0.25 0.75\nlabel i64[1,1] 2\n"),
            "block 0, op 0 (cross_entropy): Label has 2; want 0 to 1, or -100 for a row to ignore");
}

TEST(Losses, AccuracyIsAScalarSince25) {
  EXPECT_EQ(RunOps(R"(program version=2006002
block 0 {
  accuracy(Out=x, Indices=i, Label=label) -> (Accuracy=accuracy, Correct=correct, Total=total)
}
)",
                   "x f32[2,1] 0.5 0.5\ni i64[2,1] 0 1\nlabel i64[2,1] 0 0\n"),
            "accuracy f32[] 0.5\ncorrect i32[] 1\ntotal i32[] 2\n");
}

TEST(Losses, AccuracyCountsRowsThatHaveTheirLabel) {
  EXPECT_EQ(RunOps(R"(
    top_k(X=x) -> (Out=largest, Indices=indices) {k=2}
    accuracy(Out=largest, Indices=indices, Label=label) -> (Accuracy=accuracy, Correct=correct,
      Total=total)
  )",
                   "x f32[2,4] 3 1 3 2 1 2 3 4\nlabel i64[2,1] 2 1\n"),
            "accuracy f32[1] 0.5\ncorrect i32[1] 1\nindices i64[2,2] 0 2 3 2\n"
            "largest f32[2,2] 3 3 4 3\ntotal i32[1] 2\n");
}

// Both scores are 0, then the mask leaves one.
TEST(Attention, AveragesValuesByTheSoftmaxOfTheScores) {
  const std::string inputs = "q f32[1,2] 1 1\nk f32[2,2] 1 -1 2 -2\nv f32[2,1] 10 20\n";
  EXPECT_EQ(RunOps("scaled_dot_product_attention(Q=q, K=k, V=v) -> (Out=y) {alpha=0.5}", inputs),
            "y f32[1,1] 15\n");
  EXPECT_EQ(RunOps("scaled_dot_product_attention(Q=q, K=k, V=v, Mask=m) -> (Out=y)",
                   inputs + "m f32[2] -40 0\n"),
            "y f32[1,1] 20\n");
}

// A float beside -1e9 has a step of 64: nothing is left of the scores 1 and 2, as where their
// components compute them.
TEST(Attention, AveragesAllValuesOfARowThatIsMaskedWhole) {
  const std::string inputs =
      "q f32[1,2] 1 1\nk f32[2,2] 1 0 2 0\nv f32[2,1] 10 20\nm f32[2] -1e9 -1e9\n";
  EXPECT_EQ(RunOps("scaled_dot_product_attention(Q=q, K=k, V=v, Mask=m) -> (Out=y)", inputs),
            "y f32[1,1] 15\n");
  EXPECT_EQ(RunOps(R"(
    matmul(X=q, Y=k) -> (Out=s) {transpose_Y=true}
    elementwise_add(X=s, Y=m) -> (Out=t)
    softmax(X=t) -> (Out=p)
    matmul(X=p, Y=v) -> (Out=y)
  )",
                   inputs),
            "p f32[1,2] 0.5 0.5\ns f32[1,2] 1 2\nt f32[1,2] -1e+09 -1e+09\ny f32[1,1] 15\n");
}

}  // namespace
}  // namespace fixpoint::reference
