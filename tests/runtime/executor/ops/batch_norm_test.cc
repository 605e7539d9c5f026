// batch_norm, with and without the relu after it, on the executor and on the reference
// interpreter.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

TEST(BatchNorm, ByGivenStatisticsHasAGradientToo) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (
          Y=y, MeanOut=mean, VarianceOut=variance, SavedMean=m, SavedVariance=v) {is_test=true}
        batch_norm_grad(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance, MeanOut=mean,
          VarianceOut=variance, SavedMean=m, SavedVariance=v, Y@GRAD=dy) -> (
          X@GRAD=dx, Scale@GRAD=dscale, Bias@GRAD=dbias) {is_test=true}
      })",
                          Drawn("x", {4, 5, 3, 3}) + Drawn("scale", {5}) + Drawn("bias", {5}) +
                              Drawn("mean", {5}) + "variance f32[5] 1 2 3 4 0.5\n" +
                              Drawn("dy", {4, 5, 3, 3}),
                          1e-5, {"y", "dx", "dscale", "dbias"}),
            "");
}

// In both modes, with images channels last and not.
TEST(BatchNorm, FoldedIntoAProductIsAsTheInterpreterHasIt) {
  for (const char* attributes : {"", "is_test=true", "data_layout=\"NHWC\""}) {
    const bool channels_last = absl::StartsWith(attributes, "data");
    const std::vector<int64_t> dims = {4, channels_last ? 3 : 5, 3, channels_last ? 5 : 3};
    EXPECT_EQ(
        OpDifferences(absl::StrReplaceAll(R"(program version=2006002
      block 0 {
        folded_batch_norm(X=x, Unfolded=u, Deviation=d, Scale=scale, Bias=bias, Mean=mean,
          Variance=variance) -> (Y=y, MeanOut=mean, VarianceOut=variance, SavedMean=m,
          SavedVariance=v) {ATTRIBUTES}
        folded_batch_norm_grad(X=x, Unfolded=u, Deviation=d, Scale=scale, Mean=mean, SavedMean=m,
          SavedVariance=v, Y@GRAD=dy) -> (X@GRAD=dx, Unfolded@GRAD=du, Scale@GRAD=dscale,
          Bias@GRAD=dbias) {ATTRIBUTES}
      })",
                                          {{"ATTRIBUTES", attributes}}),
                      Drawn("x", dims) + Drawn("u", dims) + "d f32[5] 1 2 0.5 4 3\n" +
                          Drawn("scale", {5}) + Drawn("bias", {5}) + Drawn("mean", {5}) +
                          "variance f32[5] 1 2 3 4 0.5\n" + Drawn("dy", dims),
                      1e-5, {"y", "m", "v", "mean", "variance", "dx", "du", "dscale", "dbias"}),
        "")
        << attributes;
  }
}

TEST(BatchNorm, WithItsReluIsOneStep) {
  const std::string inputs = Drawn("x", {4, 5, 3, 3}) + Drawn("scale", {5}) + Drawn("bias", {5}) +
                             Drawn("mean", {5}) + "variance f32[5] 1 2 3 4 0.5\n" +
                             Drawn("dz", {4, 5, 3, 3});
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var mean f32[5] persistable
        var variance f32[5] persistable
        batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (
          Y=y, MeanOut=mean, VarianceOut=variance, SavedMean=m, SavedVariance=v)
        relu(X=y) -> (Out=z)
        relu_grad(Out=z, Out@GRAD=dz) -> (X@GRAD=dy)
        batch_norm_grad(X=x, Scale=scale, Bias=bias, MeanOut=mean, VarianceOut=variance, SavedMean=m, SavedVariance=v, Y@GRAD=dy) -> (
          X@GRAD=dx, Scale@GRAD=dscale, Bias@GRAD=dbias)
      })",
                          inputs, 1e-5, {"z", "dx", "dscale", "dbias"}),
            "");
}

TEST(BatchNorm, ByGivenStatisticsHandsThemOut) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (
          Y=y, MeanOut=m2, VarianceOut=v2, SavedMean=sm, SavedVariance=sv) {is_test=true}
      })",
                          "x f32[3,2] 1 2 3 4 6 9\ns f32[2] 1 2\nb f32[2] 0 -1\n"
                          "m f32[2] 3 4\nv f32[2] 1 4\n",
                          1e-6, {"sm", "sv", "m2", "v2"}),
            "");
}

// A gradient that does not pass the relu is not affected by it.
TEST(BatchNorm, HasAGradientBesideItsRelu) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (
          Y=y, MeanOut=m2, VarianceOut=v2, SavedMean=sm, SavedVariance=sv, ReserveSpace=r)
        relu(X=y) -> (Out=z)
        batch_norm_grad(X=x, Scale=s, Bias=b, MeanOut=m2, VarianceOut=v2, SavedMean=sm,
          SavedVariance=sv, ReserveSpace=r, Y@GRAD=g) -> (
          X@GRAD=dx, Scale@GRAD=ds, Bias@GRAD=db)
      })",
                          "x f32[3,2] 1 2 3 4 6 9\ns f32[2] 1 2\nb f32[2] 0 -1\n"
                          "m f32[2] 0 0\nv f32[2] 1 1\ng f32[3,2] 1 -1 2 3 -4 5\n",
                          1e-4, {"z", "dx", "ds", "db"}),
            "");
}

// All of dy but a multiple of epsilon is subtracted: what is left is 2e-7, of numbers near 1, and
// agrees as closely as those do.
TEST(BatchNorm, HasHardlyAGradientInAChannelOfTwoValues) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (
          Y=y, MeanOut=m, VarianceOut=v, SavedMean=sm, SavedVariance=sv)
        batch_norm_grad(X=x, Scale=s, Bias=b, MeanOut=m, VarianceOut=v, SavedMean=sm, SavedVariance=sv, Y@GRAD=dy) -> (
          X@GRAD=dx, Scale@GRAD=ds, Bias@GRAD=db)
      })",
                          "x f32[3,1] 4.5 4.5 -4.5\ns f32[1] 1.5\nb f32[1] 0.25\nm f32[1] 0\n"
                          "v f32[1] 1\ndy f32[3,1] 0 0 3\n",
                          2e-7, {"dx"}),
            "");
}

TEST(BatchNorm, WantsStatisticsOfItsChannels) {
  const Program program = ParsedProgram(
      "batch_norm(X=x, Scale=s, Bias=s, Mean=m, Variance=s) -> (\n"
      "  Y=y, MeanOut=a, VarianceOut=b, SavedMean=c, SavedVariance=d)\n");
  Scope scope = *ParseParameters("x f32[1,2] 1 2\ns f32[2] 1 1\nm f32[1] 0\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok());
  EXPECT_EQ(
      (*executor)->Run({}, {"y"}, 0).status(),
      absl::InvalidArgumentError("block 0, op 0 (batch_norm): input Mean is [1]; want 2 elements"));
}

// One of them is after the relu's gradient, the other is not.
TEST(BatchNorm, HasAGradientForEachOfItsReaders) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (
          Y=y, MeanOut=m2, VarianceOut=v2, SavedMean=sm, SavedVariance=sv, ReserveSpace=r)
        relu(X=y) -> (Out=z)
        relu_grad(Out=z, Out@GRAD=g) -> (X@GRAD=dy)
        batch_norm_grad(X=x, Scale=s, Bias=b, MeanOut=m2, VarianceOut=v2, SavedMean=sm,
          SavedVariance=sv, ReserveSpace=r, Y@GRAD=dy) -> (
          X@GRAD=dx, Scale@GRAD=ds, Bias@GRAD=db)
        batch_norm_grad(X=x, Scale=s, Bias=b, MeanOut=m2, VarianceOut=v2, SavedMean=sm,
          SavedVariance=sv, ReserveSpace=r, Y@GRAD=h) -> (
          X@GRAD=dx2, Scale@GRAD=ds2, Bias@GRAD=db2)
      })",
                          "x f32[3,2] 1 2 3 4 6 9\ns f32[2] 1 2\nb f32[2] 0 -1\n"
                          "m f32[2] 0 0\nv f32[2] 1 1\ng f32[3,2] 1 -1 2 3 -4 5\n"
                          "h f32[3,2] 7 2 -3 4 -5 6\n",
                          1e-4, {"z", "dx", "ds", "db", "dx2", "ds2", "db2"}),
            "");
}

TEST(BatchNorm, MayHaveOneVariableAsMeanAndVariance) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        scale(X=s) -> (Out=t) {scale=2.0}
        batch_norm(X=x, Scale=s, Bias=s, Mean=t, Variance=t) -> (
          Y=y, MeanOut=m2, VarianceOut=v2, SavedMean=sm, SavedVariance=sv)
      })",
                          "x f32[3,2] 1 2 3 4 6 9\ns f32[2] 1 2\n", 1e-6, {"y", "m2", "v2"}),
            "");
}

// Channels that lie last in the program; the quantizer takes its codes in the pass that normalizes.
TEST(BatchNormOfNhwc, AndItsGradient) {
  for (const std::string attributes :
       {"data_layout=\"NHWC\"", "data_layout=\"NHWC\", use_global_stats=true"}) {
    SCOPED_TRACE(attributes);
    const std::string program = absl::StrCat(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (
          Y=y, MeanOut=m2, VarianceOut=v2, SavedMean=m, SavedVariance=v) {)",
                                             attributes, R"(}
        relu(X=y) -> (Out=z)
        fake_quantize_dequantize_abs_max(X=z) -> (Out=q, OutScale=s) {bit_length=8}
        relu_grad(Out=z, Out@GRAD=dz) -> (X@GRAD=dy)
        batch_norm_grad(X=x, Scale=scale, Bias=bias, Mean=m2, Variance=v2, MeanOut=m2,
          VarianceOut=v2, SavedMean=m, SavedVariance=v, Y@GRAD=dy) -> (
          X@GRAD=dx, Scale@GRAD=dscale, Bias@GRAD=dbias) {)",
                                             attributes, R"(}
      })");
    EXPECT_EQ(OpDifferences(program,
                            Drawn("x", {4, 3, 2, 5}) + Drawn("scale", {5}) + Drawn("bias", {5}) +
                                Drawn("mean", {5}) + "variance f32[5] 1 2 3 4 0.5\n" +
                                Drawn("dz", {4, 3, 2, 5}),
                            1e-5, {"z", "q", "dx", "dscale", "dbias", "m2", "v2"}),
              "");
  }
}

TEST(BatchNormOfNhwc, OfAMatrixIsAsOfNchw) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        batch_norm(X=x, Scale=s, Bias=b, Mean=m, Variance=v) -> (
          Y=y, MeanOut=m2, VarianceOut=v2, SavedMean=sm, SavedVariance=sv) {data_layout="NHWC"}
      })",
                          "x f32[3,2] 1 2 3 4 6 9\ns f32[2] 1 2\nb f32[2] 0 -1\n"
                          "m f32[2] 3 4\nv f32[2] 1 4\n"),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
