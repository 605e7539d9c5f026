#include "ops/gradient_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/gradient_matcher.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What these tests ask about.
const absl::flat_hash_set<std::string> kForwardTypes = {"mul", "conv2d", "conditional_block",
                                                        "relu"};

const Op& OpAt(const Program& program, int index) {
  const Op* op = program.block(0).first_op();
  for (int i = 0; i < index; ++i) op = op->next();
  return *op;
}

// The positions in block 0 of the gradient ops of op `index`.
std::vector<int> GradientsOf(const Program& program, int index) {
  const GradientLinks links(program, kForwardTypes);
  std::vector<int> positions;
  for (const Op* gradient : links.GradientsOf(OpAt(program, index))) {
    positions.push_back(gradient->Index());
  }
  return positions;
}

TEST(GradientLinks, FollowTheValuesThatAreRepeated) {
  const Program program = ParsedProgram(R"(
    mul(X=x, Y=w) -> (Out=a)
    mul(X=a, Y=w) -> (Out=b)
    mul_grad(X=a, Y=w, Out@GRAD=b@GRAD) -> (X@GRAD=a@GRAD)
    mul_grad(X=x, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD)
  )");
  EXPECT_THAT(GradientsOf(program, 0), ElementsAre(3));
  EXPECT_THAT(GradientsOf(program, 1), ElementsAre(2));
  EXPECT_TRUE(GradientLinks(program, kForwardTypes).has_gradients());
}

TEST(GradientLinks, OfWhatIsComputedOnceMoreAreUncertain) {
  const Program program = ParsedProgram(R"(
    var w f32[4,4] persistable
    var w2 f32[4,4] persistable
    mul(X=x, Y=w) -> (Out=a)
    relu(X=a) -> (Out=b)
    mul(X=b, Y=w2) -> (Out=c)
    relu(X=c) -> (Out=d)
    mul(X=x, Y=w) -> (Out=a.subprog_0) {op_role=1}
    relu(X=a.subprog_0) -> (Out=b.subprog_0) {op_role=1}
    mul_grad(X=b.subprog_0, Y=w2, Out@GRAD=c@GRAD) -> (X@GRAD=b@GRAD, Y@GRAD=w2@GRAD) {op_role=1}
    relu_grad(Out=b.subprog_0, Out@GRAD=b@GRAD) -> (X@GRAD=a@GRAD) {op_role=1}
    mul_grad(X=x, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
    mul(X=other, Y=w2) -> (Out=c.subprog_0) {op_role=1}
  )");
  const GradientLinks links(program, kForwardTypes);
  EXPECT_EQ(links.UncertainGradientOf(OpAt(program, 0)), &OpAt(program, 4));
  EXPECT_EQ(links.UncertainGradientOf(OpAt(program, 1)), &OpAt(program, 5));
  EXPECT_EQ(links.UncertainGradientOf(OpAt(program, 2)), &OpAt(program, 9));
  EXPECT_EQ(links.UncertainGradientOf(OpAt(program, 3)), nullptr);
}

TEST(GradientLinks, OfAlikeOpsTheOutputsGradientDecides) {
  const Program program = ParsedProgram(R"(
    mul(X=x, Y=w) -> (Out=a)
    mul(X=x, Y=w) -> (Out=b)
    mul_grad(X=x, Y=w, Out@GRAD=b@GRAD) -> (Y@GRAD=w@GRAD@RENAME@block0@0)
    mul_grad(X=x, Y=w, Out@GRAD=a@GRAD@RENAME@block0@1) -> (Y@GRAD=w@GRAD@RENAME@block0@1)
  )");
  EXPECT_THAT(GradientsOf(program, 0), ElementsAre(3));
  EXPECT_THAT(GradientsOf(program, 1), ElementsAre(2));
}

TEST(GradientLinks, AGradientOfAnOverwrittenValueIsUncertain) {
  const Program program = ParsedProgram(R"(
    mul(X=x, Y=w) -> (Out=a)
    scale(X=x) -> (Out=x)
    mul_grad(X=x, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD)
  )");
  EXPECT_THAT(GradientsOf(program, 0), IsEmpty());
  EXPECT_EQ(GradientLinks(program, kForwardTypes).UncertainGradientOf(OpAt(program, 0)),
            &OpAt(program, 2));
}

TEST(GradientLinks, AGradientOfAGradientBelongsToTheForwardOp) {
  const Program program = ParsedProgram(R"(
    conv2d(Input=x, Filter=w) -> (Output=y)
    conv2d_grad(Input=x, Filter=w, Output@GRAD=y@GRAD) -> (Filter@GRAD=w@GRAD)
    conv2d_grad_grad(Input=x, Filter=w, DOutput=y@GRAD) -> (DDOutput=z)
  )");
  EXPECT_THAT(GradientsOf(program, 0), ElementsAre(1, 2));
}

TEST(GradientLinks, OpsThatRunBlocksHaveNone) {
  const Program program = ParsedProgram(R"(
    block 0 {
      conditional_block(Cond=c, Input=[x]) -> (Out=[y], Scope=s) {sub_block=block(1)}
      conditional_block_grad(Cond=c, Input=[x], Out@GRAD=[y@GRAD], Scope=s) -> () {sub_block=block(2)}
    }
    block 1 parent=0 {
      relu(X=x) -> (Out=y)
    }
    block 2 parent=0 forward=1 {
    }
  )");
  EXPECT_THAT(GradientsOf(program, 0), IsEmpty());
  EXPECT_TRUE(GradientLinks(program, kForwardTypes).has_gradients());
}

TEST(GradientLinks, AreNoneInAProgramForInference) {
  const Program program = ParsedProgram("relu(X=x) -> (Out=y)");
  EXPECT_FALSE(GradientLinks(program, kForwardTypes).has_gradients());
}

// batch_norm_grad has what batch_norm wrote as MeanOut in Mean, not what it read there.
TEST(GradientLinks, OfBatchNormByGivenStatisticsRepeatsWhatWasWritten) {
  const Program program = ParsedProgram(R"(
    var m f32[4] persistable
    var v f32[4] persistable
    batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=y, MeanOut=m, VarianceOut=v, SavedMean=sm, SavedVariance=sv) {use_global_stats=true}
    batch_norm_grad(X=x, Scale=s, Bias=b, Mean=m, Variance=v, SavedMean=sm, SavedVariance=sv, Y@GRAD=y@GRAD) -> (X@GRAD=x@GRAD) {use_global_stats=true}
  )");
  const GradientLinks links(program, {"batch_norm"});
  const Op& norm = OpAt(program, 0);
  EXPECT_THAT(links.GradientsOf(norm), ElementsAre(&OpAt(program, 1)));
  EXPECT_EQ(links.UncertainGradientOf(norm), nullptr);
  EXPECT_THAT(links.RepeatsOf(*norm.Input("X")), ElementsAre(OpAt(program, 1).Input("X")));
  EXPECT_THAT(links.RepeatsOf(*norm.Input("Mean")), IsEmpty());
}

// Both update the statistics before the first gradient op reads them.
TEST(GradientLinks, OfTwoBatchNormsMayShareStatistics) {
  const Program program = ParsedProgram(R"(
    var m f32[4] persistable
    var v f32[4] persistable
    batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=y, MeanOut=m, VarianceOut=v, SavedMean=sm, SavedVariance=sv)
    batch_norm(X=y, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=z, MeanOut=m, VarianceOut=v, SavedMean=tm, SavedVariance=tv)
    batch_norm_grad(X=y, Scale=s, Bias=b, MeanOut=m, VarianceOut=v, SavedMean=tm, SavedVariance=tv, Y@GRAD=z@GRAD) -> (X@GRAD=y@GRAD)
    batch_norm_grad(X=x, Scale=s, Bias=b, MeanOut=m, VarianceOut=v, SavedMean=sm, SavedVariance=sv, Y@GRAD=y@GRAD) -> (X@GRAD=x@GRAD)
  )");
  const GradientLinks links(program, {"batch_norm"});
  EXPECT_THAT(links.GradientsOf(OpAt(program, 0)), ElementsAre(&OpAt(program, 3)));
  EXPECT_THAT(links.GradientsOf(OpAt(program, 1)), ElementsAre(&OpAt(program, 2)));
}

TEST(GradientLinks, MayRepeatResultsAlone) {
  const Program program = ParsedProgram(R"(
    relu(X=x) -> (Out=a)
    relu(X=x) -> (Out=b)
    relu_grad(Out=b, Out@GRAD=g) -> (X@GRAD=x@GRAD@RENAME@block0@0)
    relu_grad(Out=a, Out@GRAD=h) -> (X@GRAD=x@GRAD@RENAME@block0@1)
    relu_grad(Out=c, Out@GRAD=a@GRAD) -> (X@GRAD=z)
  )");
  EXPECT_THAT(GradientsOf(program, 0), ElementsAre(3));
  EXPECT_THAT(GradientsOf(program, 1), ElementsAre(2));
  EXPECT_EQ(GradientLinks(program, kForwardTypes).UncertainGradientOf(OpAt(program, 0)),
            &OpAt(program, 4));
}

TEST(GradientLinks, OfAnOpWithASlotTwiceAreUncertainForAllOpsOfItsType) {
  const Program program = ParsedProgram(R"(
    mul(X=x, Y=w) -> (Out=a)
    mul_grad(X=x, X=x, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD)
  )");
  EXPECT_THAT(GradientsOf(program, 0), IsEmpty());
  EXPECT_EQ(GradientLinks(program, kForwardTypes).UncertainGradientOf(OpAt(program, 0)),
            &OpAt(program, 1));
}

// The position of the forward op of the last op, among all ops of block 0, which is the one that
// GradientLinks have; -1 if there is none.
int ForwardOfLast(absl::string_view text) {
  const Program program = ParsedProgram(text);
  GradientMatcher matcher(EraOf(program));
  const GradientLinks links(program, {"batch_norm", "mul", "pool2d", "relu"});
  const Op& last = *program.block(0).last_op();
  const Op* linked = nullptr;
  for (const Op& op : program.block(0).ops()) {
    matcher.AddForward(op);
    for (const Op* gradient : links.GradientsOf(op)) {
      if (gradient == &last) linked = &op;
    }
  }
  const Op* forward = matcher.ForwardOf(last);
  EXPECT_EQ(linked, forward) << text;
  return forward != nullptr ? forward->Index() : -1;
}

TEST(ForwardOf, IsTheOpThatHasEverythingThatIsRepeated) {
  EXPECT_EQ(ForwardOfLast("pool2d(X=x) -> (Out=a)\n"
                          "pool2d(X=x) -> (Out=b)\n"
                          "pool2d_grad(X=x, Out=b, Out@GRAD=g) -> (X@GRAD=h)\n"),
            1);
  EXPECT_EQ(ForwardOfLast("pool2d(X=x) -> (Out=a)\n"
                          "pool2d_grad(X=a, Out=a, Out@GRAD=g) -> (X@GRAD=h)\n"),
            -1);
}

TEST(ForwardOf, IsNoneOfSeveral) {
  EXPECT_EQ(ForwardOfLast("mul(X=x, Y=w) -> (Out=a)\n"
                          "mul(X=x, Y=w) -> (Out=b)\n"
                          "mul_grad(X=x, Y=w, Out@GRAD=g) -> (X@GRAD=h)\n"),
            -1);
  EXPECT_EQ(ForwardOfLast("mul(X=x, Y=w) -> (Out=a)\n"
                          "mul(X=x, Y=w) -> (Out=a)\n"
                          "mul_grad(X=x, Y=w, Out@GRAD=a@GRAD) -> (X@GRAD=h)\n"),
            -1);
  EXPECT_EQ(ForwardOfLast("mul(X=x, Y=w) -> (Out=a)\n"), -1);
}

TEST(ForwardOf, IsOfSeveralTheOneWhoseOutputsGradientIsRead) {
  EXPECT_EQ(ForwardOfLast("mul(X=x, Y=w) -> (Out=a)\n"
                          "mul(X=x, Y=w) -> (Out=b)\n"
                          "mul_grad(X=x, Y=w, Out@GRAD=b@GRAD) -> (X@GRAD=h)\n"),
            1);
  EXPECT_EQ(ForwardOfLast("mul(X=x, Y=w) -> (Out=a)\n"
                          "mul(X=x, Y=w) -> (Out=b)\n"
                          "mul_grad(X=x, Y=w, Out@GRAD=a@GRAD@RENAME@block0@1) -> (X@GRAD=h)\n"),
            0);
}

TEST(ForwardOf, IsNoneOfAnOpWithASlotTwice) {
  EXPECT_EQ(ForwardOfLast("mul(X=x, Y=w) -> (Out=a)\n"
                          "mul_grad(X=x, X=x, Y=w, Out@GRAD=a@GRAD) -> (X@GRAD=h)\n"),
            -1);
}

// Unlike state, which its op updates in place.
TEST(ForwardOf, IsNoneIfAResultWasWrittenAgain) {
  const auto of_relu = [](absl::string_view scaled) {
    return ForwardOfLast(
        absl::StrCat("var y f32[2] persistable\n"
                     "relu(X=x) -> (Out=y)\n"
                     "scale(X=y) -> (Out=",
                     scaled,
                     ") {scale=2.0}\n"
                     "relu_grad(Out=y, Out@GRAD=g) -> (X@GRAD=h)\n"));
  };
  EXPECT_EQ(of_relu("z"), 0);
  EXPECT_EQ(of_relu("y"), -1);
  EXPECT_EQ(
      ForwardOfLast("var m f32[2] persistable\n"
                    "batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (Y=y, MeanOut=m, "
                    "VarianceOut=w, SavedMean=n, SavedVariance=o)\n"
                    "scale(X=m) -> (Out=m) {scale=2.0}\n"
                    "batch_norm_grad(X=x, Scale=s, Bias=b, MeanOut=m, VarianceOut=w, SavedMean=n, "
                    "SavedVariance=o, Y@GRAD=g) -> (X@GRAD=h)\n"),
      0);
}

}  // namespace
}  // namespace fixpoint
