// Volumes, integers element by element, and rows that a run decides, on the executor and on the
// reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// The differences of an op and its gradient, in a program of 2.6.
std::string DifferencesOf(const std::string& ops, const std::string& inputs) {
  return OpDifferences(absl::StrCat("program version=2006002\nblock 0 {\n", ops, "\n}"), inputs);
}

TEST(Volumes, AreConvolvedAndSoAreTheirGradients) {
  for (const std::string attributes :
       {"{strides=[2, 1, 1], paddings=[1, 0, 1]}", "{padding_algorithm=\"SAME\"}",
        "{dilations=[1, 2, 1], paddings=[0, 1, 1, 1, 0, 0]}"}) {
    SCOPED_TRACE(attributes);
    EXPECT_EQ(DifferencesOf(absl::StrCat("conv3d(Input=x, Filter=w) -> (Output=y) ", attributes,
                                         "\nrelu(X=y) -> (Out=dy)\n",
                                         "conv3d_grad(Input=x, Filter=w, Output@GRAD=dy) -> ",
                                         "(Input@GRAD=dx, Filter@GRAD=dw) ", attributes),
                            Drawn("x", {2, 3, 4, 5, 4}) + Drawn("w", {4, 3, 2, 3, 2})),
              "");
  }
}

TEST(Volumes, ThatDoNotFitAreRefused) {
  const std::string text = DifferencesOf("conv3d(Input=x, Filter=w) -> (Output=y) {groups=2}",
                                         Drawn("x", {2, 3, 4, 5, 4}) + Drawn("w", {4, 3, 2, 3, 2}));
  EXPECT_NE(text.find("6 channels"), std::string::npos) << text;
}

TEST(Maxima, AndTheirPlaces) {
  EXPECT_EQ(DifferencesOf("max_pool3d_with_index(X=x) -> (Out=y, Mask=m) {ksize=[2, 2, 3], "
                          "strides=[1, 2, 2], paddings=[0, 1, 1]}\n"
                          "max_pool3d_with_index_grad(X=x, Mask=m, Out@GRAD=y) -> (X@GRAD=dx) "
                          "{ksize=[2, 2, 3], strides=[1, 2, 2], paddings=[0, 1, 1]}",
                          Drawn("x", {2, 3, 4, 5, 4})),
            "");
}

TEST(Integers, AreComputedElementByElement) {
  for (const std::string op : {"add", "sub", "mul", "max", "min"}) {
    SCOPED_TRACE(op);
    EXPECT_EQ(DifferencesOf(absl::StrCat("elementwise_", op, "(X=x, Y=y) -> (Out=z)\n",
                                         "elementwise_", op, "(X=a, Y=b) -> (Out=c) {axis=0}"),
                            "x i64[2,3] 1 -2 3 4 5 -6\ny i64[3] 3 -2 1\n"
                            "a i32[2,3] 1 -2 3 4 5 -6\nb i32[2] 7 -5\n"),
              "");
  }
}

// The rows of scatter are as many as mine_hard_examples finds.
TEST(Rows, ThatARunFindsAreScattered) {
  EXPECT_EQ(DifferencesOf("mine_hard_examples(ClsLoss=loss, MatchIndices=match, MatchDist=far) -> "
                          "(NegIndices=n, UpdatedMatchIndices=u) {neg_pos_ratio=1.0}\n"
                          "cast(X=n) -> (Out=f) {in_dtype=2, out_dtype=5}\n"
                          "scatter(X=x, Ids=n, Updates=f) -> (Out=y)",
                          "loss f32[2,4] 1 4 2 3 5 6 7 8\nmatch i32[2,4] 0 -1 -1 -1 -1 1 0 -1\n"
                          "far f32[2,4] 0.1 0.2 0.3 0.1 0.2 0.1 0.2 0.1\nx f32[4,1] 9 9 9 9\n"),
            "");
}

TEST(Unpool, AndItsGradient) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        max_pool2d_with_index(X=x) -> (Out=y, Mask=i) {ksize=[2, 3], strides=[2, 3]}
        unpool(X=y, Indices=i) -> (Out=z) {ksize=[2, 3], strides=[2, 3], output_size=[5, 7],
          unpooling_type="max"}
        unpool_grad(X=y, Indices=i, Out=z, Out@GRAD=z) -> (X@GRAD=dy) {ksize=[2, 3],
          strides=[2, 3], output_size=[5, 7], unpooling_type="max"}
      })",
                          Drawn("x", {2, 3, 5, 7})),
            "");
}

TEST(Unpool, RefusesAPlaceThatIsNotOfTheImage) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        unpool(X=x, Indices=i) -> (Out=z) {ksize=[2, 2], strides=[2, 2], unpooling_type="max"}
      })",
                            "x f32[1,1,1,1] 1\ni i32[1,1,1,1] 4\n"),
              testing::HasSubstr("Indices has 4; want 0 to 3"));
}

}  // namespace
}  // namespace fixpoint::executor
