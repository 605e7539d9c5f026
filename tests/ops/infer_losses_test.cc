// What is inferred of losses of elements, of ops on vectors, and of those that pick elements.

#include <gtest/gtest.h>

#include "tests/ops/inferred_outputs.h"

namespace fixpoint {
namespace {

constexpr InferCase kLosses[] = {
    {"var x f32[-1,5]\nvar p f32[1,5]\nlabel_smooth(X=x, PriorDist=p) -> (Out=y) {epsilon=0.1}",
     "Out=FP32[-1, 5]"},
    {"var x f32[2,5]\nvar p f32[1,4]\nlabel_smooth(X=x, PriorDist=p) -> (Out=y)",
     "error: PriorDist is [1, 4] and X [2, 5]; want an element for each class, along X's last "
     "axis"},
    {"var x f32[-1,1]\nlog_loss(Predicted=x, Labels=x) -> (Loss=y) {epsilon=0.1}",
     "Loss=FP32[-1, 1]"},
    {"var x f32[4,1]\nvar l f32[3,1]\nbce_loss(X=x, Label=l) -> (Out=y)",
     "error: Label is [3, 1]; want [4, 1]"},
    {"var x f32[4,2]\nkldiv_loss(X=x, Target=x) -> (Loss=y)", "Loss=FP32[1]"},
    {"var x f32[4,2]\nkldiv_loss(X=x, Target=x) -> (Loss=y) {reduction=\"none\"}",
     "Loss=FP32[4, 2]"},
    {"var x f32[4,2]\nvar t f32[4]\nkldiv_loss(X=x, Target=t) -> (Loss=y)",
     "error: Target is [4]; want [4, 2]"},
};
INSTANTIATE_TEST_SUITE_P(Losses, Infer, testing::ValuesIn(kLosses));

constexpr InferCase kVectors[] = {
    {"var x f32[4,-1,3]\nnorm(X=x) -> (Out=y, Norm=n) {axis=1}",
     "Out=FP32[4, -1, 3] Norm=FP32[4, 1, 3]"},
    {"var x f32[4,3]\nnorm(X=x) -> (Out=y, Norm=n) {axis=2}",
     "error: axis 2 is not one of a tensor of 2 dimensions; want -2 to 1"},
    {"var x f32[-1,3]\ndot(X=x, Y=x) -> (Out=y)", "Out=FP32[-1]"},
    {"var x f32[3]\ndot(X=x, Y=x) -> (Out=y)", "Out=FP32[1]"},
    {"var i f32[3]\nvar x f32[-1,4]\nvar z f32[4,3]\naddmm(Input=i, X=x, Y=z) -> (Out=y)",
     "Out=FP32[-1, 3]"},
    {"var i f32[2]\nvar x f32[2,4]\nvar z f32[4,3]\naddmm(Input=i, X=x, Y=z) -> (Out=y)",
     "error: Input is [2]; want what broadcasts to [2, 3]"},
    {"var x f32[2,4]\naddmm(Input=x, X=x, Y=x) -> (Out=y)",
     "error: X is [2, 4] and Y [2, 4]; want [M,K] and [K,N]"},
    {"var x f32[4,3]\nvar z f32[4,2]\ndot(X=x, Y=z) -> (Out=y)",
     "error: X is [4, 3] and Y [4, 2]; want the same dimensions"},
    {"var x f32[-1,6,2,2]\nmaxout(X=x) -> (Out=y) {groups=3}", "Out=FP32[-1, 2, 2, 2]"},
    {"var x f32[2,6]\nmaxout(X=x) -> (Out=y) {groups=4, axis=-1}",
     "error: groups is 4 and X [2, 6]; want a divisor of the 6 channels"},
};
INSTANTIATE_TEST_SUITE_P(Vectors, Infer, testing::ValuesIn(kVectors));

constexpr InferCase kImages[] = {
    {R"(var x f32[-1,3,4,5]
        var i i32[-1,3,4,5]
        unpool(X=x, Indices=i) -> (Out=y) {ksize=[2, 2], strides=[2, 2], unpooling_type="max"})",
     "Out=FP32[-1, 3, 8, 10]"},
    {R"(var x f32[1,3,4,5]
        unpool(X=x) -> (Out=y) {ksize=[2, 2], strides=[2, 2], output_size=[9, 10],
          unpooling_type="max"})",
     "Out=FP32[1, 3, 9, 10]"},
    {R"(var x f32[1,3,4,5]
        unpool(X=x) -> (Out=y) {ksize=[2], unpooling_type="max"})",
     "error: X is [1, 3, 4, 5]; want [N,C,H,W], and two values of each of ksize, strides, paddings "
     "and output_size"},
    {"var x f32[-1,8,4,6]\nspace_to_depth(X=x) -> (Out=y) {blocksize=2L}",
     "Out=FP32[-1, 32, 2, 3]"},
    {"var x f32[1,6,4,6]\nspace_to_depth(X=x) -> (Out=y) {blocksize=2L}",
     "error: blocksize is 2 and X is [1, 6, 4, 6]; want images, and 2 or more that divides the "
     "height and the width, and whose square divides the channels"},
    {R"(var x f32[-1,3,8,-1]
        unfold(X=x) -> (Y=y) {kernel_sizes=[3, 2], strides=[1, 2], paddings=[1, 0, 1, 0],
          dilations=[1, 1]})",
     "Y=FP32[-1, 18, -1]"},
    {R"(var x f32[2,3,8,7]
        unfold(X=x) -> (Y=y) {kernel_sizes=[3, 2], strides=[1, 2], paddings=[1, 0, 1, 0],
          dilations=[1, 1]})",
     "Y=FP32[2, 18, 24]"},
    {R"(var x f32[2,3,8,7]
        unfold(X=x) -> (Y=y) {kernel_sizes=[3, 2], strides=[0, 2], paddings=[1, 0, 1, 0],
          dilations=[1, 1]})",
     "error: strides is [0, 2]; want 2 values from 1 to 1073741824"},
    {R"(var x f32[2,3,2,7]
        unfold(X=x) -> (Y=y) {kernel_sizes=[3, 2], strides=[1, 2], paddings=[0, 0, 0, 0],
          dilations=[2, 1]})",
     "error: X is [2, 3, 2, 7] with paddings [0, 0, 0, 0]; want at least the 5 places that a "
     "window covers"},
    {R"(var x f32[-1,18,24]
        fold(X=x) -> (Y=y) {output_sizes=[8, 7], kernel_sizes=[3, 2], strides=[1, 2],
          paddings=[1, 0, 1, 0], dilations=[1, 1]})",
     "Y=FP32[-1, 3, 8, 7]"},
    {R"(var x f32[2,18,25]
        fold(X=x) -> (Y=y) {output_sizes=[8, 7], kernel_sizes=[3, 2], strides=[1, 2],
          paddings=[1, 0, 1, 0], dilations=[1, 1]})",
     "error: X is [2, 18, 25]; want [N, C * 6, 24]"},
    {"var x f32[2,18,25]\nfold(X=x) -> (Y=y) {output_sizes=[8], kernel_sizes=[3, 2], "
     "strides=[1, 2], paddings=[1, 0, 1, 0], dilations=[1, 1]}",
     "error: output_sizes is [8]; want 2 values from 1 to 1073741824"},
    {"var w f32[4,3,2]\nvar u f32[3]\nspectral_norm(Weight=w, U=u, V=v) -> (Out=y) {dim=1}",
     "Out=FP32[4, 3, 2]"},
    {"var w f32[4,3]\nvar v f32[4]\nspectral_norm(Weight=w, U=u, V=v) -> (Out=y)",
     "error: V is [4] and Weight [4, 3]; want 3 elements"},
    {"var w f32[4,3]\nspectral_norm(Weight=w, U=u, V=v) -> (Out=y) {dim=2}",
     "error: dim is 2 and Weight [4, 3]; want an axis of it"},
    {"spectral_norm(Weight=w, U=u, V=v) -> (Out=y) {power_iters=4097}",
     "error: power_iters is 4097; want 0 to 4096"},
    {"var t f32[-1,2,3]\naffine_grid(Theta=t) -> (Output=y) {output_shape=[2, 3, 4, 5]}",
     "Output=FP32[-1, 4, 5, 2]"},
    {"var t f32[2,2,3]\naffine_grid(Theta=t, OutputShape=s) -> (Output=y)",
     "Output=FP32[2, -1, -1, 2]"},
    {"var t f32[2,2,4]\naffine_grid(Theta=t) -> (Output=y) {output_shape=[2, 3, 4, 5]}",
     "error: Theta is [2, 2, 4]; want [batch, 2, 3]"},
};
INSTANTIATE_TEST_SUITE_P(Images, Infer, testing::ValuesIn(kImages));

constexpr InferCase kElements[] = {
    {"var x f32[4,2]\nvar m bool[4,2]\nmasked_select(X=x, Mask=m) -> (Y=y)", "Y=FP32[-1]"},
    {"var x f32[4,2]\nvar m bool[4]\nmasked_select(X=x, Mask=m) -> (Y=y)",
     "error: Mask is [4]; want [4, 2], as X"},
    {"var x i64[4,2]\nunique(X=x) -> (Out=y, Index=i, Counts=c) {dtype=2}",
     "Out=INT64[-1] Index=INT32[8] Counts=INT32[-1]"},
};
INSTANTIATE_TEST_SUITE_P(Elements, Infer, testing::ValuesIn(kElements));

}  // namespace
}  // namespace fixpoint
