// Convolution, pooling and batch normalization, worked by hand or observed in the reference.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

constexpr char kImage4x4[] = "x f32[1,1,4,4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n";
constexpr char kOnes3x3[] = "w f32[1,1,3,3] 1 1 1 1 1 1 1 1 1\n";

std::string Conv(const std::string& attrs, const std::string& inputs) {
  return RunOps("conv2d(Input=x, Filter=w) -> (Output=y) {" + attrs + "}", inputs);
}

TEST(Convolution, MultipliesWithoutFlippingTheFilter) {
  EXPECT_EQ(Conv("", "x f32[1,1,2,3] 1 2 3 4 5 6\nw f32[1,1,1,2] 10 1\n"),
            "y f32[1,1,2,2] 12 23 45 56\n");
}

TEST(Convolution, PadsEachSideOnItsOwn) {
  EXPECT_EQ(Conv("paddings=[1, 0, 0, 2]", "x f32[1,1,1,1] 5\nw f32[1,1,2,2] 1 2 3 4\n"),
            "y f32[1,1,1,2] 15 0\n");
}

TEST(Convolution, SameAndValidAreAsObserved) {
  const std::string inputs = absl::StrCat(kImage4x4, kOnes3x3);
  EXPECT_EQ(Conv("strides=[2, 2], padding_algorithm=\"SAME\"", inputs),
            "y f32[1,1,2,2] 45 39 66 50\n");
  EXPECT_EQ(Conv("paddings=[1, 1], padding_algorithm=\"VALID\"", inputs),
            "y f32[1,1,2,2] 45 54 81 90\n");
}

TEST(Convolution, DilationSpreadsTheFilter) {
  EXPECT_EQ(Conv("dilations=[2, 3]", absl::StrCat(kImage4x4, "w f32[1,1,2,2] 1 10 100 1000\n")),
            "y f32[1,1,2,1] 11830 16274\n");
}

TEST(Convolution, AGroupReadsItsOwnChannels) {
  EXPECT_EQ(Conv("groups=2", "x f32[1,2,1,1] 3 5\nw f32[4,1,1,1] 1 2 10 20\n"),
            "y f32[1,4,1,1] 3 6 50 100\n");
}

TEST(Convolution, ChannelsMayBeLast) {
  EXPECT_EQ(Conv("data_format=\"NHWC\"", "x f32[1,1,2,2] 1 2 3 4\nw f32[1,2,1,1] 1 10\n"),
            "y f32[1,1,2,1] 21 43\n");
}

// What the reference's inference passes fold into a convolution: 12, 23, 45 and 56 are its sums.
TEST(Convolution, DoesTheWorkThatWasFoldedIntoIt) {
  const auto run = [](const std::string& attrs, const std::string& slots = "",
                      int version = 1008005) {
    return RunOps(absl::StrCat("program version=", version, "\nblock 0 {\nconv2d(Input=x, Filter=w",
                               slots, ") -> (Output=y) {", attrs, "}\n}"),
                  "x f32[1,1,2,3] 1 2 3 4 5 6\nw f32[1,1,1,2] 10 1\nb f32[1] -40\n"
                  "r f32[1,1,2,2] 1 2 -20 4\n");
  };
  EXPECT_EQ(run("", ", Bias=b"), "y f32[1,1,2,2] -28 -17 5 16\n");
  EXPECT_EQ(run("fuse_relu=true", ", Bias=b"), "y f32[1,1,2,2] 0 0 5 16\n");
  EXPECT_EQ(run("fuse_activation=\"relu\", fuse_relu=true", ", Bias=b"),
            "y f32[1,1,2,2] 0 0 5 16\n");
  EXPECT_EQ(run("fuse_activation=\"relu\"", ", Bias=b", 2001000), "y f32[1,1,2,2] 0 0 5 16\n");
  EXPECT_EQ(run("fuse_brelu=true, fuse_brelu_threshold=6.0", ", Bias=b"),
            "y f32[1,1,2,2] 0 0 5 6\n");
  EXPECT_EQ(run("fuse_activation=\"relu6\", fuse_alpha=15.0", ", Bias=b"),
            "y f32[1,1,2,2] 0 0 5 15\n");
  EXPECT_EQ(run("fuse_activation=\"leaky_relu\", fuse_alpha=0.5", ", Bias=b"),
            "y f32[1,1,2,2] -14 -8.5 5 16\n");
  EXPECT_EQ(run("fuse_residual_connection=true, fuse_relu=true", ", Bias=b, ResidualData=r"),
            "y f32[1,1,2,2] 0 0 0 20\n");
}

TEST(Convolution, NamesFoldedWorkThatItDoesNotDo) {
  const auto run = [](const std::string& op) {
    return RunOps("program version=1008005\nblock 0 {\n" + op + "\n}",
                  "x f32[1,1,1,1] 1\nw f32[1,1,1,1] 1\n");
  };
  const std::string conv = "conv2d(Input=x, Filter=w) -> (Output=y) ";
  EXPECT_EQ(run(conv + "{fuse_activation=\"mish\"}"),
            "block 0, op 0 (conv2d): fuse_activation is \"mish\"; want relu, relu6, leaky_relu, "
            "swish, sigmoid, tanh, or the activation as an op");
  EXPECT_EQ(run(conv + "{fuse_brelu=true, fuse_activation=\"relu\"}"),
            "block 0, op 0 (conv2d): more than one of fuse_relu, fuse_brelu and fuse_activation is "
            "set; want one");
  EXPECT_EQ(run(conv + "{fuse_residual_connection=true}"),
            "block 0, op 0 (conv2d): fuse_residual_connection is true and input ResidualData is "
            "absent; want both or neither");
  EXPECT_EQ(run("conv2d_transpose(Input=x, Filter=w) -> (Output=y) {fuse_relu=true}"),
            "block 0, op 0 (conv2d_transpose): attribute fuse_relu is true; want the op alone, and "
            "that as an op of its own");
  // An attribute that the op's schema does not have.
  EXPECT_EQ(run("elementwise_add(X=x, Y=w) -> (Out=y) {fuse_activation=\"relu\"}"),
            "block 0, op 0 (elementwise_add): attribute fuse_activation is \"relu\", which nothing "
            "here computes; want that as an op of its own");
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Conv("", "x f32[1,2,1,1] 1 2\nw f32[1,1,1,1] 1\n"),
            "block 0, op 0 (conv2d): Input is [1, 2, 1, 1] and Filter [1, 1, 1, 1] in 1 groups; "
            "want channels that fit");
  EXPECT_EQ(Conv("", "x f32[2] 1 2\nw f32[1,1,1,1] 1\n"),
            "block 0, op 0 (conv2d): Input is [2]; want 4 dimensions");
}

TEST(TransposedConvolution, SpreadsEachElement) {
  const auto run = [](const std::string& attrs) {
    return RunOps("conv2d_transpose(Input=x, Filter=w) -> (Output=y) {" + attrs + "}",
                  "x f32[1,1,1,2] 1 10\nw f32[1,1,1,3] 1 2 3\n");
  };
  EXPECT_EQ(run(""), "y f32[1,1,1,4] 1 12 23 30\n");
  EXPECT_EQ(run("strides=[1, 2]"), "y f32[1,1,1,5] 1 2 13 20 30\n");
  EXPECT_EQ(run("strides=[1, 2], paddings=[0, 1]"), "y f32[1,1,1,3] 2 13 20\n");
  EXPECT_EQ(run("strides=[1, 2], output_size=[1, 6]"), "y f32[1,1,1,6] 1 2 13 20 30 0\n");
  EXPECT_EQ(run("strides=[1, 2], output_padding=[0, 1]"), "y f32[1,1,1,6] 1 2 13 20 30 0\n");
  EXPECT_EQ(run("strides=[1, 2], output_padding=[1]"),
            "block 0, op 0 (conv2d_transpose): output_padding has 1 values; want 2 or none");
}

std::string Pool(const std::string& attrs, const std::string& inputs, int version = 2006002) {
  return RunOps(absl::StrCat("program version=", version, "\nblock 0 {\npool2d(X=x) -> (Out=y) {",
                             attrs, "}\n}"),
                inputs);
}

// Variances of 5, and of 1 in each half.
TEST(GroupNorm, IsByTheStatisticsOfTheGroup) {
  EXPECT_EQ(RunOps(R"(
    group_norm(X=x, Scale=scale, Bias=bias) -> (Y=a, Mean=am, Variance=av) {groups=1, epsilon=4.0}
    group_norm(X=x) -> (Y=b, Mean=bm, Variance=bv) {groups=2, epsilon=3.0}
  )",
                   "x f32[1,2,1,2] 1 3 5 7\nscale f32[2] 3 6\nbias f32[2] 0 1\n"),
            "a f32[1,2,1,2] -3 -1 3 7\nam f32[1,1] 4\nav f32[1,1] 5\n"
            "b f32[1,2,1,2] -0.5 0.5 -0.5 0.5\nbm f32[1,2] 2 6\nbv f32[1,2] 1 1\n");
}

TEST(Pooling, TakesTheLargestOrTheAverage) {
  EXPECT_EQ(Pool("pooling_type=\"max\", ksize=[2, 2], strides=[2, 2]", kImage4x4),
            "y f32[1,1,2,2] 5 7 13 15\n");
  EXPECT_EQ(Pool("pooling_type=\"avg\", ksize=[2, 2], strides=[2, 2]", kImage4x4),
            "y f32[1,1,2,2] 2.5 4.5 10.5 12.5\n");
  EXPECT_EQ(Pool("pooling_type=\"avg\", ksize=[1, 1], global_pooling=true", kImage4x4),
            "y f32[1,1,1,1] 7.5\n");
  EXPECT_EQ(Pool("pooling_type=\"avg\", ksize=[1, 3], adaptive=true", kImage4x4),
            "y f32[1,1,1,3] 6.5 7.5 8.5\n");
}

TEST(Pooling, PaddingIsNeverTheLargest) {
  EXPECT_EQ(Pool("pooling_type=\"max\", ksize=[3, 3], strides=[3, 3], paddings=[1, 1]",
                 "x f32[1,1,2,2] -1 -2 -3 -4\n"),
            "y f32[1,1,1,1] -1\n");
}

TEST(Pooling, OfMoreThanFitsInMemoryIsRefused) {
  const std::string no_memory = "block 0, op 0 (pool2d): there is no memory for its outputs";
  EXPECT_EQ(Pool("pooling_type=\"max\", ksize=[2147483647, 2147483647], adaptive=true", kImage4x4),
            no_memory);
  EXPECT_EQ(
      Pool("pooling_type=\"max\", ksize=[1, 1], paddings=[2147483647, 2147483647]", kImage4x4),
      no_memory);
}

TEST(Pooling, AnAverageCountsPaddingAsItsReleaseDoes) {
  const std::string ones = "x f32[1,1,4,4] 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n";
  const std::string attrs =
      "pooling_type=\"avg\", ksize=[3, 3], strides=[2, 2], paddings=[1, 1], ceil_mode=true";
  EXPECT_EQ(Pool(attrs, ones), "y f32[1,1,3,3] 1 1 1 1 1 1 1 1 1\n");
  // The window of the last column begins at column 3 and ends 2 beyond the image: 1.x divides by 9,
  // 2.x by the 2 columns that are in the image or its padding, times 3 rows, or 2.
  EXPECT_EQ(Pool(attrs + ", exclusive=false", ones, 1008005),
            "y f32[1,1,3,3] 0.444444448 0.666666687 0.222222224 0.666666687 1 0.333333343 "
            "0.222222224 0.333333343 0.111111112\n");
  EXPECT_EQ(Pool(attrs + ", exclusive=false", ones, 2006002),
            "y f32[1,1,3,3] 0.444444448 0.666666687 0.333333343 0.666666687 1 0.5 0.333333343 0.5 "
            "0.25\n");
}

TEST(Pooling, TheGradientOfAMaximumGoesToTheFirst) {
  EXPECT_EQ(RunOps("pool2d_grad(X=x, Out=y, Out@GRAD=dy) -> (X@GRAD=dx) {pooling_type=\"max\", "
                   "ksize=[2, 2]}",
                   "x f32[1,1,2,2] 1 7 7 2\ny f32[1,1,1,1] 7\ndy f32[1,1,1,1] 10\n"),
            "dx f32[1,1,2,2] 0 10 0 0\n");
}

constexpr char kStatistics[] =
    "scale f32[1] 2\nbias f32[1] 1\nmean f32[1] 0.5\nvariance f32[1] 1\n";

std::string BatchNorm(const std::string& attrs, const std::string& x) {
  return RunOps(
      "batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (Y=y, "
      "MeanOut=mean, VarianceOut=variance, SavedMean=saved_mean, "
      "SavedVariance=saved_variance) {" +
          attrs + "}",
      x + kStatistics);
}

// 1 and 5 have mean 3 and variance 4.
TEST(BatchNorm, GoesByTheBatchAndFollowsIt) {
  EXPECT_EQ(BatchNorm("epsilon=0.0, momentum=0.75", "x f32[2,1,1,1] 1 5\n"),
            "mean f32[1] 1.125\nsaved_mean f32[1] 3\nsaved_variance f32[1] 0.5\n"
            "variance f32[1] 1.75\ny f32[2,1,1,1] -1 3\n");
}

TEST(BatchNorm, GoesByTheGivenStatisticsInInference) {
  const std::string expected =
      "mean f32[1] 0.5\nsaved_mean f32[1] 0.5\nsaved_variance f32[1] 1\nvariance f32[1] 1\n"
      "y f32[2,1,1,1] 2 10\n";
  EXPECT_EQ(BatchNorm("epsilon=0.0, is_test=true", "x f32[2,1,1,1] 1 5\n"), expected);
  EXPECT_EQ(BatchNorm("epsilon=0.0, use_global_stats=true", "x f32[2,1,1,1] 1 5\n"), expected);
}

TEST(BatchNorm, TrainableStatisticsAreOfTheBatchInInferenceToo) {
  EXPECT_EQ(BatchNorm("epsilon=0.0, momentum=0.75, is_test=true, trainable_statistics=true",
                      "x f32[2,1,1,1] 1 5\n"),
            BatchNorm("epsilon=0.0, momentum=0.75", "x f32[2,1,1,1] 1 5\n"));
}

}  // namespace
}  // namespace fixpoint::reference
