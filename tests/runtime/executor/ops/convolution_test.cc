// Convolutions, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

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

// Where the output is larger than the least that the shape allows there are rows of fewer taps;
// a stride above the filter's size leaves rows of none.
TEST(TransposedConvolution, OfNumbersAndOfCodesHasEveryOutputSize) {
  const std::string attributes[] = {"strides=[2, 2], output_padding=[1, 1]",
                                    "strides=[2, 3], output_size=[8, 13]",
                                    "strides=[5, 4], paddings=[1, 0]"};
  for (const char* release : {"", "program version=2006002\n"}) {
    for (const std::string& said : attributes) {
      EXPECT_EQ(OpDifferences(absl::StrCat(release, R"(block 0 {
        conv2d_transpose(Input=x, Filter=w) -> (Output=y) {)",
                                           said, "}\n}"),
                              Drawn("x", {2, 4, 3, 4}) + Drawn("w", {4, 3, 3, 2})),
                "")
          << said;
    }
  }
  for (const std::string& said : attributes) {
    EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=xq, OutScale=xs) {bit_length=8}
        fake_quantize_dequantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {bit_length=8}
        conv2d_transpose(Input=xq, Filter=wq) -> (Output=y) {)",
                                         said, "}\n}"),
                            Drawn("x", {2, 4, 3, 4}) + Drawn("w", {4, 3, 3, 2})),
              "")
        << said;
  }
}

// A program's NHWC tensor lies as kernels want it: nothing is converted.
TEST(ConvolutionsOfNhwc, AndTheirGradients) {
  const std::string program = R"(program version=2006002
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y) {strides=[2, 1], paddings=[1, 0, 2, 1], groups=2,
          data_format="NHWC"}
        conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
          strides=[2, 1], paddings=[1, 0, 2, 1], groups=2, data_format="NHWC"}
        depthwise_conv2d(Input=x, Filter=v) -> (Output=z) {groups=4, padding_algorithm="SAME",
          data_format="NHWC"}
        depthwise_conv2d_grad(Input=x, Filter=v, Output@GRAD=dz) -> (Input@GRAD=dx2,
          Filter@GRAD=dv) {groups=4, padding_algorithm="SAME", data_format="NHWC"}
      })";
  EXPECT_EQ(OpDifferences(program, Drawn("x", {2, 7, 6, 4}) + Drawn("w", {6, 2, 3, 2}) +
                                       Drawn("dy", {2, 3, 8, 6}) + Drawn("v", {4, 1, 3, 3}) +
                                       Drawn("dz", {2, 7, 6, 4})),
            "");
}

TEST(ConvolutionsOfNhwc, TransposedOnesToo) {
  EXPECT_EQ(OpDifferences(
                R"(program version=2006002
      block 0 {
        conv2d_transpose(Input=x, Filter=w) -> (Output=y) {strides=[2, 2], paddings=[1, 0],
          data_format="NHWC"}
        conv2d_transpose_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx,
          Filter@GRAD=dw) {strides=[2, 2], paddings=[1, 0], data_format="NHWC"}
      })",
                Drawn("x", {2, 4, 5, 3}) + Drawn("w", {3, 4, 3, 3}) + Drawn("dy", {2, 7, 11, 4})),
            "");
}

// A network in NHWC, whose first op alone is given something else.
TEST(ConvolutionsOfNhwc, WithWhatFollowsThem) {
  const std::string program = R"(program version=2006002
      block 0 {
        transpose2(X=image) -> (Out=x, XShape=s) {axis=[0, 2, 3, 1]}
        conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1], data_format="NHWC"}
        elementwise_add(X=y, Y=b) -> (Out=yb) {axis=3}
        batch_norm(X=yb, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (Y=n,
          MeanOut=mean, VarianceOut=variance, SavedMean=m, SavedVariance=v) {is_test=true,
          data_layout="NHWC"}
        relu(X=n) -> (Out=r)
        pool2d(X=r) -> (Out=p) {ksize=[2, 2], strides=[2, 2], pooling_type="avg",
          data_format="NHWC"}
      })";
  const std::string inputs = Drawn("image", {2, 4, 6, 6}) + Drawn("w", {5, 4, 3, 3}) +
                             Drawn("b", {5}) + Drawn("scale", {5}) + Drawn("bias", {5}) +
                             Drawn("mean", {5}) + "variance f32[5] 1 2 3 4 0.5\n";
  EXPECT_EQ(OpDifferences(program, inputs, 1e-5, {"p"}), "");
  EXPECT_EQ(OpDifferences(program, inputs, 1e-5), "");

  Scope scope = *ParseParameters(inputs, "inputs");
  const Program parsed = ParsedProgram(program);
  const auto executor = Executor::Create(parsed, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  ASSERT_TRUE((*executor)->Run({}, {"p"}, 0).ok());
  EXPECT_THAT((*executor)->PlanText(),
              testing::Not(testing::ContainsRegex("to (channels last|row major)")));
}

TEST(ConvolutionsWithFoldedWork, AreAsOnTheInterpreter) {
  const std::string inputs = Drawn("x", {2, 4, 7, 6}) + Drawn("w", {6, 4, 3, 3}) + Drawn("b", {6}) +
                             Drawn("r", {2, 6, 5, 4}) + Drawn("v", {4, 1, 3, 3}) + Drawn("c", {4}) +
                             Drawn("last", {2, 7, 6, 4}) + Drawn("r.last", {2, 5, 4, 6});
  for (const std::string activation :
       {"fuse_relu=false", "fuse_relu=true", "fuse_brelu=true, fuse_brelu_threshold=0.5",
        "fuse_activation=\"relu\"", "fuse_activation=\"relu6\", fuse_alpha=0.4",
        "fuse_activation=\"leaky_relu\", fuse_alpha=0.1",
        "fuse_activation=\"swish\", fuse_alpha=1.5", "fuse_activation=\"sigmoid\"",
        "fuse_activation=\"tanh\""}) {
    SCOPED_TRACE(activation);
    const std::string program = absl::StrCat(R"(program version=1008005
      block 0 {
        conv2d(Input=x, Filter=w) -> (Output=y) {)",
                                             activation, R"(}
        conv2d(Input=x, Filter=w, Bias=b, ResidualData=r) -> (Output=z) {
          fuse_residual_connection=true, )",
                                             activation, R"(}
        relu6(X=z) -> (Out=a)
        conv2d(Input=last, Filter=w, Bias=b, ResidualData=r.last) -> (Output=z.last) {
          fuse_residual_connection=true, data_format="NHWC", )",
                                             activation, R"(}
        depthwise_conv2d(Input=x, Filter=v, Bias=c) -> (Output=d) {groups=4, )",
                                             activation, R"(}
      })");
    EXPECT_EQ(OpDifferences(program, inputs), "");
    EXPECT_EQ(OpDifferences(program, inputs, 1e-5, {"y", "a", "z.last", "d"}), "");
  }
}

// Both operands are codes: the sums are computed on integers.
TEST(ConvolutionsWithFoldedWork, OfCodesToo) {
  for (const std::string activation : {"relu", "sigmoid"}) {
    EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=q, OutScale=s) {bit_length=8}
        fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=p, OutScale=t) {bit_length=8}
        conv2d(Input=q, Filter=p, Bias=b) -> (Output=y) {fuse_activation=")",
                                         activation, R"("}
      })"),
                            Drawn("x", {2, 4, 7, 6}) + Drawn("w", {6, 4, 3, 3}) + Drawn("b", {6}),
                            1e-5, {"y"}),
              "");
  }
}

}  // namespace
}  // namespace fixpoint::executor
