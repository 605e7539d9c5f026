// Ops element by element, worked by hand.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

TEST(ElementwiseOps, BroadcastYFromTheEndOfX) {
  EXPECT_EQ(RunOps("elementwise_add(X=x, Y=y) -> (Out=out)",
                   "x f32[2,3] 1 2 3 4 5 6\ny f32[3] 10 20 30\n"),
            "out f32[2,3] 11 22 33 14 25 36\n");
}

TEST(ElementwiseOps, BroadcastYFromAnAxis) {
  EXPECT_EQ(RunOps("elementwise_add(X=x, Y=y) -> (Out=out) {axis=0}",
                   "x f32[2,3] 1 2 3 4 5 6\ny f32[2] 10 20\n"),
            "out f32[2,3] 11 12 13 24 25 26\n");
  EXPECT_EQ(RunOps("elementwise_mul(X=x, Y=y) -> (Out=out) {axis=0}",
                   "x f32[2,1,2] 1 2 3 4\ny f32[2,1] 10 20\n"),
            "out f32[2,1,2] 10 20 60 80\n");
}

TEST(ElementwiseOps, BroadcastBothWays) {
  EXPECT_EQ(
      RunOps("elementwise_sub(X=x, Y=y) -> (Out=out)", "x f32[2,1] 1 2\ny f32[1,3] 10 20 30\n"),
      "out f32[2,3] -9 -19 -29 -8 -18 -28\n");
  EXPECT_EQ(RunOps("elementwise_div(X=x, Y=y) -> (Out=out)", "x f32[1] 6\ny f32[2] 2 3\n"),
            "out f32[2] 3 2\n");
}

TEST(ElementwiseOps, RefuseWhatDoesNotBroadcast) {
  EXPECT_EQ(RunOps("elementwise_add(X=x, Y=y) -> (Out=out)", "x f32[3] 1 2 3\ny f32[2] 1 2\n"),
            "block 0, op 0 (elementwise_add): X [3] and Y [2] do not broadcast: want equal "
            "dimensions or 1, got 3 and 2");
  EXPECT_EQ(RunOps("elementwise_add(X=x, Y=y) -> (Out=out) {axis=2}",
                   "x f32[1,3] 1 2 3\ny f32[3] 1 2 3\n"),
            "block 0, op 0 (elementwise_add): axis 2 does not place [3] inside 2 dimensions");
}

TEST(ElementwiseOps, KnowEachFunction) {
  EXPECT_EQ(RunOps(R"(
    elementwise_max(X=x, Y=y) -> (Out=max)
    elementwise_min(X=x, Y=y) -> (Out=min)
    elementwise_pow(X=x, Y=y) -> (Out=pow)
  )",
                   "x f32[3] 2 3 4\ny f32[3] 3 2 0.5\n"),
            "max f32[3] 3 3 4\nmin f32[3] 2 2 0.5\npow f32[3] 8 9 2\n");
}

TEST(ElementwiseOps, CompareAndCombineTruths) {
  EXPECT_EQ(RunOps(R"(
    less_than(X=x, Y=y) -> (Out=less)
    equal(X=x, Y=y) -> (Out=equal)
    greater_equal(X=x, Y=y) -> (Out=not_less)
    less_equal(X=x, Y=y) -> (Out=not_greater)
    greater_than(X=x, Y=y) -> (Out=greater)
    logical_and(X=not_less, Y=not_greater) -> (Out=neither)
    is_empty(X=x) -> (Out=empty)
    logical_or(X=less, Y=equal) -> (Out=less_or_equal)
    logical_not(X=less) -> (Out=not)
    logical_xor(X=less, Y=not) -> (Out=xor)
  )",
                   "x i64[3] 1 2 3\ny i64[1] 2\n"),
            "empty bool[1] 0\nequal bool[3] 0 1 0\ngreater bool[3] 0 0 1\nless bool[3] 1 0 0\n"
            "less_or_equal bool[3] 1 1 0\nneither bool[3] 0 1 0\nnot bool[3] 0 1 1\n"
            "not_greater bool[3] 1 1 0\nnot_less bool[3] 0 1 1\nxor bool[3] 1 1 1\n");
  EXPECT_EQ(RunOps("is_empty(X=x) -> (Out=y)", "x f32[0,2]\n"), "y bool[1] 1\n");
}

TEST(ElementwiseOps, SumAndScale) {
  EXPECT_EQ(RunOps(R"(
    sum(X=[x, y, x]) -> (Out=sum)
    scale(X=x) -> (Out=after) {scale=2.0, bias=1.0}
    scale(X=x) -> (Out=before) {scale=2.0, bias=1.0, bias_after_scale=false}
    clip(X=y) -> (Out=clipped) {min=-1.0, max=15.0}
    clip_by_norm(X=y) -> (Out=shorter) {max_norm=25.0}
    clip_by_norm(X=x) -> (Out=same) {max_norm=25.0}
    squared_l2_norm(X=x) -> (Out=norm)
    mean(X=y) -> (Out=mean)
  )",
                   "x f32[2] 1 2\ny f32[2] -30 40\n"),
            "after f32[2] 3 5\nbefore f32[2] 4 6\nclipped f32[2] -1 15\nmean f32[1] 5\n"
            "norm f32[1] 5\nsame f32[2] 1 2\nshorter f32[2] -15 20\nsum f32[2] -28 44\n");
}

TEST(ElementwiseOps, NumbersOfAttributesBecomeIntegersBesideIntegers) {
  EXPECT_EQ(RunOps(R"(
    scale(X=x) -> (Out=a) {scale=2.5, bias=1.5}
    increment(X=one) -> (Out=b) {step=1.5}
  )",
                   "x i64[2] 3 -3\none i32[1] 1\n"),
            "a i64[2] 7 -5\nb i32[1] 2\n");
}

TEST(ElementwiseOps, TheMeanIsAScalarSince25) {
  EXPECT_EQ(RunOps("program version=2006002\nblock 0 {\nmean(X=x) -> (Out=y)\n}", "x f32[2] 1 2\n"),
            "y f32[] 1.5\n");
  EXPECT_EQ(RunOps("program version=2004002\nblock 0 {\nmean(X=x) -> (Out=y)\n}", "x f32[2] 1 2\n"),
            "y f32[1] 1.5\n");
}

TEST(Activations, BendWhereTheySay) {
  EXPECT_EQ(RunOps(R"(
    relu(X=x) -> (Out=a_relu)
    relu6(X=x) -> (Out=b_relu6)
    leaky_relu(X=x) -> (Out=c_leaky) {alpha=0.5}
    hard_sigmoid(X=x) -> (Out=d_hard_sigmoid) {slope=0.25, offset=0.5}
    hard_swish(X=x) -> (Out=e_hard_swish) {scale=4.0}
    abs(X=x) -> (Out=f_abs)
    square(X=x) -> (Out=g_square)
    sign(X=x) -> (Out=h_sign)
  )",
                   "x f32[5] -4 -1 0 1 8\n"),
            "a_relu f32[5] 0 0 0 1 8\nb_relu6 f32[5] 0 0 0 1 6\nc_leaky f32[5] -2 -0.5 0 1 8\n"
            "d_hard_sigmoid f32[5] 0 0.25 0.5 0.75 1\ne_hard_swish f32[5] -0 -0.5 0 1 12\n"
            "f_abs f32[5] 4 1 0 1 8\ng_square f32[5] 16 1 0 1 64\nh_sign f32[5] -1 -1 0 1 1\n");
}

// As the reference does, by X in 2.x and by Out in 1.x.
TEST(Activations, LeakyReluPassesTheGradientsOfZeros) {
  for (const char* slot : {"X", "Out"}) {
    const bool is_of_2 = slot == std::string("X");
    EXPECT_EQ(RunOps(absl::StrCat("program version=", is_of_2 ? 2006002 : 1008005,
                                  "\nblock 0 {\nleaky_relu_grad(", slot,
                                  "=x, Out@GRAD=dy) -> (X@GRAD=dx) {alpha=0.5}\n}"),
                     "x f32[4] 0 -0 -1 1\ndy f32[4] 1 1 1 1\n"),
              "dx f32[4] 1 1 0.5 1\n");
  }
}

TEST(Activations, AreSmoothWhereTheySay) {
  EXPECT_EQ(RunOps(R"(
    sigmoid(X=x) -> (Out=a_sigmoid)
    tanh(X=x) -> (Out=b_tanh)
    swish(X=x) -> (Out=c_swish)
    gelu(X=x) -> (Out=d_gelu)
    gelu(X=x) -> (Out=e_gelu_tanh) {approximate=true}
    exp(X=x) -> (Out=f_exp)
  )",
                   "x f32[3] -1 0 1\n"),
            "a_sigmoid f32[3] 0.268941432 0.5 0.731058598\n"
            "b_tanh f32[3] -0.761594176 0 0.761594176\n"
            "c_swish f32[3] -0.268941432 0 0.731058598\n"
            "d_gelu f32[3] -0.158655256 0 0.841344774\n"
            "e_gelu_tanh f32[3] -0.158808008 0 0.841192007\n"
            "f_exp f32[3] 0.36787945 1 2.71828175\n");
}

TEST(Activations, OfFewNetworksDoWhatTheySay) {
  EXPECT_EQ(RunOps(R"(
    elu(X=x) -> (Out=a_elu) {alpha=0.5}
    selu(X=x) -> (Out=b_selu) {scale=2.0, alpha=0.5}
    softplus(X=x) -> (Out=c_softplus)
    softplus(X=x) -> (Out=d_softplus_of_two) {beta=2.0, threshold=4.0}
    softsign(X=x) -> (Out=e_softsign)
    logsigmoid(X=x) -> (Out=f_logsigmoid)
    soft_relu(X=x) -> (Out=g_soft_relu) {threshold=1.0}
    mish(X=x) -> (Out=h_mish)
    silu(X=x) -> (Out=i_silu)
    brelu(X=x) -> (Out=j_brelu) {t_min=-1.0, t_max=2.0}
    thresholded_relu(X=x) -> (Out=k_thresholded) {threshold=1.0}
  )",
                   "x f32[5] -2 -0.5 0 1 3\n"),
            "a_elu f32[5] -0.432332367 -0.196734667 0 1 3\n"
            "b_selu f32[5] -0.864664733 -0.393469334 0 2 6\n"
            "c_softplus f32[5] 0.126928017 0.474076986 0.693147182 1.31326163 3.04858732\n"
            "d_softplus_of_two f32[5] 0.00907496363 0.156630844 0.346573591 1.06346405 3\n"
            "e_softsign f32[5] -0.666666687 -0.333333343 0 0.5 0.75\n"
            "f_logsigmoid f32[5] -2.12692809 -0.974076986 -0.693147182 -0.313261688 -0.048587352\n"
            "g_soft_relu f32[5] 0.313261688 0.474076986 0.693147182 1.31326163 1.31326163\n"
            "h_mish f32[5] -0.252501488 -0.220743775 0 0.865098417 2.98653507\n"
            "i_silu f32[5] -0.238405839 -0.188770339 0 0.731058598 2.85772228\n"
            "j_brelu f32[5] -1 -0.5 0 1 2\nk_thresholded f32[5] 0 0 0 0 3\n");
}

TEST(Activations, AreFunctionsOfTheLibrary) {
  EXPECT_EQ(RunOps(R"(
    ceil(X=x) -> (Out=a_ceil)
    floor(X=x) -> (Out=b_floor)
    round(X=x) -> (Out=c_round)
    sin(X=x) -> (Out=d_sin)
    cos(X=x) -> (Out=e_cos)
    rsqrt(X=y) -> (Out=f_rsqrt)
    reciprocal(X=y) -> (Out=g_reciprocal)
  )",
                   "x f32[3] -0.5 1 2.5\ny f32[2] 4 0.25\n"),
            "a_ceil f32[3] -0 1 3\nb_floor f32[3] -1 1 2\nc_round f32[3] -1 1 3\n"
            "d_sin f32[3] -0.47942555 0.841470957 0.598472118\n"
            "e_cos f32[3] 0.87758255 0.540302277 -0.801143587\n"
            "f_rsqrt f32[2] 0.5 2\ng_reciprocal f32[2] 0.25 4\n");
}

TEST(Activations, OfFluidLetANanAndASignOfZeroPass) {
  EXPECT_EQ(
      RunOps("program version=1008005\nblock 0 {\nrelu(X=x) -> (Out=y)\n}", "x f32[3] nan -0 -2\n"),
      "y f32[3] nan -0 0\n");
  EXPECT_EQ(
      RunOps("program version=2006002\nblock 0 {\nrelu(X=x) -> (Out=y)\n}", "x f32[3] nan -0 -2\n"),
      "y f32[3] 0 0 0\n");
}

}  // namespace
}  // namespace fixpoint::reference
