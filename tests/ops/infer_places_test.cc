// What is inferred of ops that resize images, pad, slice with steps, and pick by indices.

#include <gtest/gtest.h>

#include "tests/ops/inferred_outputs.h"

namespace fixpoint {
namespace {

constexpr InferCase kResizing[] = {
    {R"(var x f32[1,8,13,13]
        nearest_interp_v2(X=x) -> (Out=y) {scale=[2.0, 3.0]})",
     "Out=FP32[1, 8, 26, 39]"},
    {R"(var x f32[1,13,13,8]
        bilinear_interp_v2(X=x) -> (Out=y) {scale=[2.0, 3.0], data_layout="NHWC"})",
     "Out=FP32[1, 26, 39, 8]"},
    {R"(var x f32[1,8,13,13]
        nearest_interp_v2(X=x) -> (Out=y) {scale=[2.0], out_h=5, out_w=6})",
     "Out=FP32[1, 8, 5, 6]"},
    {R"(var x f32[1,8,13,13]
        nearest_interp_v2(X=x) -> (Out=y) {scale=[2.0]})",
     "error: the output has the size 0 on axis 0 of 2: neither out_d, out_h and out_w nor scale "
     "makes it positive; want 1 or more"},
    {R"(var x f32[1,8,4,4]
        bicubic_interp(X=x) -> (Out=y) {scale=1.7, out_h=100, out_w=100})",
     "Out=FP32[1, 8, 6, 6]"},
    {R"(var x f32[-1,8,-1,4]
        bilinear_interp(X=x) -> (Out=y) {scale=2.0})",
     "Out=FP32[-1, 8, -1, 8]"},
    {R"(var x f32[1,8,4,4]
        nearest_interp_v2(X=x, OutSize=s) -> (Out=y))",
     "Out=FP32[1, 8, -1, -1]"},
    {R"(var x f32[1,8,4,4]
        nearest_interp_v2(X=x, SizeTensor=[h]) -> (Out=y))",
     "error: SizeTensor has 1 tensors and X is [1, 8, 4, 4]; want 2"},
    {R"(var x f32[1,8,4]
        linear_interp_v2(X=x) -> (Out=y) {out_w=9})",
     "Out=FP32[1, 8, 9]"},
    {R"(var x f32[1,8,4,5,6]
        trilinear_interp_v2(X=x) -> (Out=y) {scale=[2.0, 3.0, 0.5]})",
     "Out=FP32[1, 8, 8, 15, 3]"},
    {R"(var x f32[1,8,4,5,6]
        nearest_interp_v2(X=x) -> (Out=y) {out_d=1, out_h=2, out_w=3})",
     "Out=FP32[1, 8, 1, 2, 3]"},
    {R"(var x f32[1,8,4]
        nearest_interp_v2(X=x) -> (Out=y) {out_w=9})",
     "error: X is [1, 8, 4]; want 4 or 5 dimensions"},
    {R"(var x f32[1,8,4,4]
        bilinear_interp_v2(X=x) -> (Out=y) {scale=[-2.0, 2.0]})",
     "error: scale is -2; want a positive number"},
    {R"(var x f32[1,8,4,4]
        bilinear_interp_v2(X=x) -> (Out=y) {scale=[nan, 2.0]})",
     "error: scale is nan; want a positive number"},
    {R"(var x f32[1,8,4,4]
        bilinear_interp_v2(X=x) -> (Out=y) {scale=[1e30, 2.0]})",
     "error: scale 1e+30 of 4 is more than an int64 holds"},
};
INSTANTIATE_TEST_SUITE_P(Resizing, Infer, testing::ValuesIn(kResizing));

constexpr InferCase kPlaces[] = {
    {R"(var x f32[3,4]
        var i i64[3,2]
        var v f32[3,2]
        put_along_axis(Input=x, Index=i, Value=v) -> (Result=y) {Axis=1})",
     "Result=FP32[3, 4]"},
    {R"(var x f32[3,4]
        var i i64[3,2]
        var v f32[3,3]
        put_along_axis(Input=x, Index=i, Value=v) -> (Result=y) {Axis=1})",
     "error: Value is [3, 3] and Index [3, 2]; want one shape"},
    {R"(var x f32[-1,3,4]
        var y f32[4,5]
        einsum(Operands=[x, y]) -> (Out=z, InnerCache=[a, b], XShape=[c, d]) {
          equation="bij,jk->bik"})",
     "Out=FP32[-1, 3, 5] InnerCache=FP32[-1, 3, 4] InnerCache=FP32[4, 5] XShape=FP32[0, -1, 3, 4] "
     "XShape=FP32[0, 4, 5]"},
    {R"(var x f32[3,4]
        var y f32[5,6]
        einsum(Operands=[x, y]) -> (Out=z) {equation="ij,jk->ik"})",
     "error: operand 1 is [5, 6], where another has 4 instead of 5"},
    {R"(var p i64[-1,1]
        var s f32[-1,1]
        beam_search(pre_ids=p, pre_scores=s, scores=s) -> (selected_ids=y, selected_scores=z,
          parent_idx=r) {level=0, beam_size=2, end_id=1})",
     "selected_ids=INT64[-1, 1] selected_scores=FP32[-1, 1] parent_idx=INT32[-1]"},
    {R"(beam_search(pre_ids=p, pre_scores=s, scores=s) -> (selected_ids=y, selected_scores=z) {
          level=0, beam_size=0, end_id=1})",
     "error: beam_size is 0; want 1 to 65536"},
    {R"(var x i64[3,4]
        gather_tree(Ids=x, Parents=x) -> (Out=y))",
     "error: Ids is [3, 4]; want [steps, batch, beams]"},
    {R"(var x f32[2,-1]
        pad(X=x) -> (Out=y) {paddings=[0, 1, 2, 0]})",
     "Out=FP32[3, -1]"},
    {R"(var x f32[2,3]
        pad(X=x) -> (Out=y) {paddings=[0, 1]})",
     "error: paddings is [0, 1]; want 4 values"},
    {R"(var x f32[2,3]
        pad(X=x) -> (Out=y) {paddings=[-1, -1, 0, 0]})",
     "error: paddings -1 and -1 of an axis of 2 leave no size; want one of 1 to 2^63 - 1"},
    {R"(var x f32[1,2,3,4]
        pad2d(X=x) -> (Out=y) {paddings=[1, 1, 3, 0], mode="reflect"})",
     "Out=FP32[1, 2, 5, 7]"},
    {R"(var x f32[1,2,3,4]
        pad2d(X=x) -> (Out=y) {paddings=[1, 3, 0, 0], mode="reflect"})",
     "error: paddings 1 and 3 of an axis of 3 mirror more than it has; want less than its size"},
    {R"(var x f32[1,2,3,4]
        pad2d(X=x) -> (Out=y) {paddings=[1, 3, 0, 0], mode="mirror"})",
     "error: mode is \"mirror\"; want constant, reflect, edge, replicate or circular"},
    {R"(var x f32[1,2,3,4,5]
        pad3d(X=x) -> (Out=y) {paddings=[1, 0, 2, 0, 3, 0]})",
     "Out=FP32[1, 2, 6, 6, 6]"},
    {R"(var x f32[1,3,4,5,2]
        pad3d(X=x) -> (Out=y) {paddings=[1, 0, 2, 0, 3, 0], data_format="NDHWC"})",
     "Out=FP32[1, 6, 6, 6, 2]"},
    {R"(var x f32[1,2,3,4]
        pad3d(X=x) -> (Out=y) {paddings=[1, 0, 2, 0, 3, 0]})",
     "error: X has 4 dimensions; want 5"},
    {R"(var x f32[9,4]
        strided_slice(Input=x) -> (Out=y) {axes=[0], starts=[8], ends=[-1], strides=[-3]})",
     "Out=FP32[3, 4]"},
    {R"(var x f32[9,4]
        strided_slice(Input=x) -> (Out=y) {axes=[0, 1], starts=[1, 0], ends=[8, 1],
          strides=[3, 1], decrease_axis=[1]})",
     "Out=FP32[3]"},
    {R"(var x f32[9,4]
        strided_slice(Input=x) -> (Out=y) {axes=[0], starts=[1], ends=[8], strides=[0]})",
     "error: a step is 0; want another number"},
    {R"(var x f32[9,4]
        strided_slice(Input=x) -> (Out=y) {axes=[0], starts=[5], ends=[2], strides=[1]})",
     "error: the slice from 5 to 2 in steps of 1 of an axis of 9 is empty; want elements"},
    {R"(var x f32[9,4]
        strided_slice(Input=x) -> (Out=y) {axes=[0], starts=[5], ends=[2]})",
     "error: axes has 1 values, starts 1, ends 1 and strides 0; want equal numbers"},
    {R"(var x f32[9,4]
        flip(X=x) -> (Out=y) {axis=[2]})",
     "error: axis 2 is not one of a tensor of 2 dimensions; want -2 to 1"},
    {R"(var x f32[9,4]
        roll(X=x) -> (Out=y) {shifts=[3L], axis=[-1L]})",
     "Out=FP32[9, 4]"},
    {R"(var x f32[9,4]
        set_value(Input=x, ValueTensor=v) -> (Out=y) {axes=[0L]})",
     "Out=FP32[9, 4]"},
    {R"(var x f32[3,4,5]
        var i i64[7,2]
        gather_nd(X=x, Index=i) -> (Out=y))",
     "Out=FP32[7, 5]"},
    {R"(var x f32[3,4]
        var i i64[7,3]
        gather_nd(X=x, Index=i) -> (Out=y))",
     "error: Index is [7, 3] and X is [3, 4]; want a last dimension of Index of 1 to 2, the axes "
     "of X"},
    {R"(var x f32[3,4,5]
        var i i32[7]
        index_select(X=x, Index=i) -> (Out=y) {dim=-1})",
     "Out=FP32[3, 4, 7]"},
    {R"(var x f32[3,4]
        var i i32[2,7]
        index_sample(X=x, Index=i) -> (Out=y))",
     "error: X is [3, 4] and Index is [2, 7]; want matrices with as many rows"},
    {R"(var x f32[3,4]
        var i i32[3,7]
        take_along_axis(Input=x, Index=i) -> (Result=y) {Axis=1})",
     "Result=FP32[3, 7]"},
    {R"(var x f32[3,4]
        var i i32[2,1]
        var u f32[3,4]
        scatter_nd_add(X=x, Index=i, Updates=u) -> (Out=y))",
     "error: Updates is [3, 4]; want [2, 4]"},
    {R"(var x f32[2,3,4]
        var y f32[2,4,5]
        bmm(X=x, Y=y) -> (Out=o))",
     "Out=FP32[2, 3, 5]"},
    {R"(var x f32[2,3,4]
        var y f32[1,4,5]
        bmm(X=x, Y=y) -> (Out=o))",
     "error: X is [2, 3, 4] and Y is [1, 4, 5]; want as many matrices in both"},
};
INSTANTIATE_TEST_SUITE_P(Places, Infer, testing::ValuesIn(kPlaces));

constexpr InferCase kVolumes[] = {
    {R"(var x f32[-1,3,8,9,10]
        var w f32[4,3,3,3,2]
        conv3d(Input=x, Filter=w) -> (Output=y) {strides=[1, 2, 3], paddings=[1, 0, 1]})",
     "Output=FP32[-1, 4, 8, 4, 4]"},
    {R"(var x f32[2,8,9,10,4]
        var w f32[6,2,3,3,3]
        conv3d(Input=x, Filter=w) -> (Output=y) {groups=2, data_format="NDHWC",
          padding_algorithm="SAME", strides=[2, 2, 2]})",
     "Output=FP32[2, 4, 5, 5, 6]"},
    {R"(var x f32[2,3,8,9]
        var w f32[4,3,3,3,2]
        conv3d(Input=x, Filter=w) -> (Output=y))",
     "error: Input is [2, 3, 8, 9]; want 5 dimensions"},
    {R"(var x f32[2,3,8,9,10]
        var w f32[4,3,3,3,2]
        conv3d(Input=x, Filter=w) -> (Output=y) {strides=[1, 1]})",
     "error: strides is [1, 1]; want three positive numbers"},
    {R"(var x f32[2,3,8,9,10]
        var w f32[4,3,3,3,2]
        conv3d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1, 1, 1]})",
     "error: paddings is [1, 1, 1, 1]; want 3 or 6 numbers, none negative"},
    {R"(var x f32[2,5,8,9,10]
        var w f32[4,3,3,3,2]
        conv3d(Input=x, Filter=w) -> (Output=y))",
     "error: Filter [4, 3, 3, 3, 2] with 1 groups reads 3 channels; Input [2, 5, 8, 9, 10] has 5"},
    {R"(var x f32[2,3,4,5,6]
        var w f32[3,4,3,3,3]
        conv3d_transpose(Input=x, Filter=w) -> (Output=y) {groups=2, strides=[2, 2, 2],
          output_padding=[1, 0, 1]})",
     "Output=FP32[2, 8, 10, 11, 14]"},
    {R"(var x f32[2,3,4,5,6]
        var w f32[3,4,3,3,3]
        conv3d_transpose(Input=x, Filter=w) -> (Output=y) {strides=[2, 2, 2],
          output_size=[9, 11, 15]})",
     "error: the output's size is to be 2 more than 13; want less than a stride, 2, and not below "
     "0"},
    {R"(var x f32[2,3,7,8,9]
        pool3d(X=x) -> (Out=y) {ksize=[2, 2, 2], strides=[2, 2, 2], ceil_mode=true})",
     "Out=FP32[2, 3, 4, 4, 5]"},
    {R"(var x f32[2,7,8,9,3]
        pool3d(X=x) -> (Out=y) {ksize=[2, 3, 4], adaptive=true, data_format="NDHWC"})",
     "Out=FP32[2, 2, 3, 4, 3]"},
    {R"(var x f32[2,3,7,8,9]
        pool3d(X=x) -> (Out=y) {ksize=[2, 2]})",
     "error: ksize is [2, 2]; want 3 positive numbers"},
    {R"(var x f32[2,3,7,8]
        max_pool2d_with_index(X=x) -> (Out=y, Mask=m) {ksize=[3, 2], strides=[2, 2]})",
     "Out=FP32[2, 3, 3, 4] Mask=INT32[2, 3, 3, 4]"},
    {R"(var x f32[2,3,7,8,9]
        max_pool3d_with_index(X=x) -> (Out=y, Mask=m) {ksize=[1, 1, 1], global_pooling=true})",
     "Out=FP32[2, 3, 1, 1, 1] Mask=INT32[2, 3, 1, 1, 1]"},
    {R"(var x f32[2,3,7,8]
        lrn(X=x) -> (Out=y, MidOut=m))",
     "Out=FP32[2, 3, 7, 8] MidOut=FP32[2, 3, 7, 8]"},
    {R"(var x f32[5,3]
        huber_loss(X=x, Y=z) -> (Out=y, Residual=r) {delta=1.0})",
     "Out=FP32[5, 3] Residual=FP32[5, 3]"},
};
INSTANTIATE_TEST_SUITE_P(Volumes, Infer, testing::ValuesIn(kVolumes));

}  // namespace
}  // namespace fixpoint
