// group_norm and instance_norm, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

// Row major, and channels last as a convolution leaves its output.
TEST(InstanceNorm, AndItsGradients) {
  EXPECT_EQ(
      OpDifferences(R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        instance_norm(X=y, Scale=scale, Bias=bias) -> (
          Y=z, SavedMean=mean, SavedVariance=deviation) {epsilon=0.01}
        instance_norm_grad(X=y, Scale=scale, SavedMean=mean, SavedVariance=deviation,
          Y@GRAD=dz) -> (X@GRAD=dy, Scale@GRAD=dscale, Bias@GRAD=dbias) {epsilon=0.01}
        instance_norm(X=x) -> (Y=bare, SavedMean=m, SavedVariance=v)
        instance_norm_grad(X=x, Scale=other, SavedMean=m, SavedVariance=v, Y@GRAD=x) -> (
          X@GRAD=dx, Scale@GRAD=d_other, Bias@GRAD=d_none)
      })",
                    Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}) + Drawn("scale", {6}) +
                        Drawn("bias", {6}) + Drawn("other", {3}) + Drawn("dz", {2, 6, 4, 4})),
      "");
}

TEST(GroupNorm, NormalizesGroupsOfChannels) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        group_norm(X=x, Scale=scale, Bias=bias) -> (Y=a, Mean=am, Variance=av) {groups=3}
        conv2d(Input=x, Filter=w) -> (Output=y)
        group_norm(X=y) -> (Y=b, Mean=bm, Variance=bv) {groups=2, epsilon=0.1}
      })",
                          Drawn("x", {2, 6, 5, 4}) + Drawn("w", {4, 6, 2, 1}) +
                              Drawn("scale", {6}) + Drawn("bias", {6})),
            "");
}

// Row major, and channels last as a convolution leaves its output.
constexpr char kGradients[] = R"(
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y)
        group_norm(X=y, Scale=scale, Bias=bias) -> (Y=z, Mean=m, Variance=v) {groups=3,
          epsilon=0.01}
        group_norm_grad($0Scale=scale, Bias=bias, Y=z, Mean=m, Variance=v, Y@GRAD=dz) -> (
          X@GRAD=dy, Scale@GRAD=dscale, Bias@GRAD=dbias) {groups=3, epsilon=0.01}
        group_norm(X=x) -> (Y=bare, Mean=m2, Variance=v2) {groups=1}
        group_norm_grad($1Y=bare, Mean=m2, Variance=v2, Y@GRAD=x) -> (X@GRAD=dx) {groups=1}
      })";

std::string GradientInputs() {
  return Drawn("x", {2, 3, 5, 4}) + Drawn("w", {6, 3, 2, 1}) + Drawn("scale", {6}) +
         Drawn("bias", {6}) + Drawn("dz", {2, 6, 4, 4});
}

TEST(GroupNorm, Gradients) {
  EXPECT_EQ(
      OpDifferences("program version=2006002" + absl::Substitute(kGradients, "X=y, ", "X=x, "),
                    GradientInputs()),
      "");
}

// Before 2.0 the gradient op is not given X.
TEST(GroupNorm, GradientsFromTheOutput) {
  EXPECT_EQ(OpDifferences("program version=1008005" + absl::Substitute(kGradients, "", ""),
                          GradientInputs()),
            "");
}

TEST(GroupNorm, GradientsWhereTheScaleIsZero) {
  EXPECT_EQ(OpDifferences(R"(program version=1008005
      block 0 {
        group_norm(X=x, Scale=scale) -> (Y=y, Mean=m, Variance=v) {groups=1}
        group_norm_grad(Scale=scale, Y=y, Mean=m, Variance=v, Y@GRAD=x) -> (
          X@GRAD=dx, Scale@GRAD=dscale) {groups=1}
      })",
                          Drawn("x", {2, 2, 3}) + "scale f32[2] 0 2\n"),
            "");
}

TEST(GroupNorm, OfChannelsThatLieLast) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        group_norm(X=x, Scale=s, Bias=b) -> (Y=y, Mean=m, Variance=v) {groups=3,
          data_layout="NHWC"}
        group_norm(X=rows, Scale=s, Bias=b) -> (Y=z, Mean=m2, Variance=v2) {groups=2,
          data_layout="NHWC"}
      })",
                          Drawn("x", {2, 4, 5, 6}) + Drawn("rows", {3, 7, 6}) + Drawn("s", {6}) +
                              Drawn("b", {6})),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
