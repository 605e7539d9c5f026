// What is inferred of ops that compute: convolutions, products and the like. Ops that quantize and
// ops that move elements have tests of their own beside this one.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/ops/inferred_outputs.h"

namespace fixpoint {
namespace {

TEST_P(Infer, TellsTheOutputs) { ExpectOutputs(); }

TEST(InferLists, SaysOfEachOfAListWhetherItIsSelectedRows) {
  EXPECT_EQ(Inferred(R"(var sparse selected_rows f32[9,2]
                        var dense f32[3,2]
                        c_sync_comm_stream(X=[sparse, dense]) -> (Out=[a, b]))",
                     Era::kPaddle2),
            "Out=FP32[9, 2] rows Out=FP32[3, 2]");
}

// Releases before 2.0 have no such attribute; where a program has it, it says what it says in 2.x.
TEST(InferTransposed, TakesOutputPaddingOfEveryEra) {
  for (const Era era : {Era::kFluid, Era::kPaddle2}) {
    EXPECT_EQ(Inferred(R"(var x f32[2,4,5,5]
        var w f32[4,3,3,3]
        conv2d_transpose(Input=x, Filter=w) -> (Output=y) {strides=[2, 2], output_padding=[1, 0]})",
                       era),
              "Output=FP32[2, 3, 12, 11]");
  }
}

constexpr InferCase kConvolution[] = {
    {R"(var x f32[-1,3,224,224]
        var w f32[64,3,7,7]
        conv2d(Input=x, Filter=w) -> (Output=y) {strides=[2, 2], paddings=[3, 3]})",
     "Output=FP32[-1, 64, 112, 112]"},
    {R"(var x f32[2,8,8,4]
        var w f32[6,2,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y) {groups=2, data_format="NHWC", dilations=[2, 2]})",
     "Output=FP32[2, 4, 4, 6]"},
    {R"(var x f32[2,3,-1,9]
        var w f32[6,3,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y) {padding_algorithm="SAME", strides=[2, 2]})",
     "Output=FP32[2, 6, -1, 5]"},
    {R"(var w f32[6,3,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y))",
     "Output=??"},
    {R"(var x f32[2,3,8,8]
        var w f32[6,3,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y) {strides=var(s)})",
     "Output=??"},
    {R"(var x f32[2,3,8]
        var w f32[6,3,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y))",
     "error: Input is [2, 3, 8]; want 4 dimensions"},
    {R"(var x f32[2,4,8,8]
        var w f32[6,3,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y))",
     "error: Filter [6, 3, 3, 3] with 1 groups reads 3 channels; Input [2, 4, 8, 8] has 4"},
    {R"(var x f32[2,4,8,8]
        var w f32[5,2,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y) {groups=2})",
     "error: Filter makes 5 channels; want a multiple of the 2 groups"},
    {R"(var x f32[2,4,8,8]
        var w f32[6,4,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y) {groups=0})",
     "error: groups is 0; want 1 or more"},
    {R"(var x f32[2,4,8,8]
        var w f32[6,4,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y) {strides=[0, 1]})",
     "error: strides is [0, 1]; want two positive numbers"},
    {R"(var x f32[2,4,2,2]
        var w f32[6,4,3,3]
        conv2d(Input=x, Filter=w) -> (Output=y))",
     "error: no window of 3 (dilation 1) fits in 2 with paddings 0 and 0"},
    {R"(var x f32[2,8,5,5]
        var w f32[8,3,3,3]
        conv2d_transpose(Input=x, Filter=w) -> (Output=y) {groups=2, strides=[2, 2]})",
     "Output=FP32[2, 6, 11, 11]"},
    {R"(var x f32[2,8,5,5]
        var w f32[8,3,3,3]
        conv2d_transpose(Input=x, Filter=w) -> (Output=y) {strides=[2, 2], output_size=[12, 11]})",
     "Output=FP32[2, 3, 12, 11]"},
    {R"(var x f32[2,8,5,5]
        var w f32[8,3,3,3]
        conv2d_transpose(Input=x, Filter=w) -> (Output=y) {strides=[2, 2], output_size=[13, 11]})",
     "error: the output's size is to be 13; want 11 to 12"},
    {R"(var x f32[2,8,1,1]
        var w f32[8,3,1,1]
        conv2d_transpose(Input=x, Filter=w) -> (Output=y) {strides=[9223372036854775807L, 1L]})",
     "Output=FP32[2, 3, 1, 1]"},
    {R"(var x f32[2,8,5,5]
        var w f32[8,3,3,3]
conv2d_transpose(Input=x, Filter=w) -> (Output=y) {output_padding=[9223372036854775807L, 0L]})",
     "error: the output's size is to be 9223372036854775814; want 7 to 7"},
};
INSTANTIATE_TEST_SUITE_P(Convolution, Infer, testing::ValuesIn(kConvolution));

constexpr InferCase kPooling[] = {
    {R"(var x f32[-1,8,7,7]
        pool2d(X=x) -> (Out=y) {ksize=[3, 3], strides=[2, 2], pooling_type="max"})",
     "Out=FP32[-1, 8, 3, 3]"},
    {R"(var x f32[-1,8,8,8]
        pool2d(X=x) -> (Out=y) {ksize=[3, 3], strides=[2, 2], ceil_mode=true})",
     "Out=FP32[-1, 8, 4, 4]"},
    {R"(var x f32[-1,8,8,6]
        pool2d(X=x) -> (Out=y) {ksize=[0, 0], global_pooling=true, data_format="NHWC"})",
     "Out=FP32[-1, 1, 1, 6]"},
    {R"(var x f32[-1,8,9,9]
        pool2d(X=x) -> (Out=y) {ksize=[4, 2], adaptive=true})",
     "Out=FP32[-1, 8, 4, 2]"},
    {R"(var x f32[-1,8,9,9]
        pool2d(X=x) -> (Out=y) {ksize=[0, 2]})",
     "error: ksize is [0, 2]; want two positive numbers"},
};
INSTANTIATE_TEST_SUITE_P(Pooling, Infer, testing::ValuesIn(kPooling));

constexpr InferCase kProduct[] = {
    {R"(var x f32[-1,8,4,4]
        var y f32[128,10]
        mul(X=x, Y=y) -> (Out=o))",
     "Out=FP32[-1, 10]"},
    {R"(var x f32[2,3,4]
        var y f32[4,5,6]
        mul(X=x, Y=y) -> (Out=o) {x_num_col_dims=2})",
     "Out=FP32[2, 3, 5, 6]"},
    {R"(var x f32[2,3]
        var y f32[4,5]
        mul(X=x, Y=y) -> (Out=o))",
     "error: X [2, 3] has rows of 3 and Y [4, 5] has columns of 4; want equal numbers"},
    {R"(var x f32[2,3]
        var y f32[3,5]
        mul(X=x, Y=y) -> (Out=o) {x_num_col_dims=2})",
     "error: x_num_col_dims is 2 and X is [2, 3]; want 1 to 1"},
    {R"(var x f32[4294967296,4294967296,4294967296]
        var y f32[3,5]
        mul(X=x, Y=y) -> (Out=o))",
     "error: a tensor [4294967296, 4294967296] has more elements than an int64 holds"},
    {R"(var x f32[8,1,2,3]
        var y f32[5,4,3]
        matmul_v2(X=x, Y=y) -> (Out=o) {trans_y=true})",
     "Out=FP32[8, 5, 2, 4]"},
    {R"(var x f32[3]
        var y f32[5,3,4]
        matmul_v2(X=x, Y=y) -> (Out=o))",
     "Out=FP32[5, 4]"},
    {R"(var x f32[3]
        var y f32[3]
        matmul(X=x, Y=y) -> (Out=o))",
     "Out=FP32[1]"},
    {R"(var x f32[3,2]
        var y f32[3,4]
        matmul(X=x, Y=y) -> (Out=o) {transpose_X=true})",
     "Out=FP32[2, 4]"},
    {R"(var x f32[3]
        var y f32[1,4]
        matmul(X=x, Y=y) -> (Out=o) {transpose_X=true})",
     "Out=FP32[3, 4]"},
    {R"(var x f32[3]
        var y f32[7,1,4]
        matmul(X=x, Y=y) -> (Out=o) {transpose_X=true})",
     "Out=FP32[7, 3, 4]"},
    {R"(var x f32[1]
        var y f32[1,4]
        matmul(X=x, Y=y) -> (Out=o) {transpose_X=true})",
     "Out=FP32[4]"},
    {R"(var x f32[3]
        var y f32[4]
        matmul(X=x, Y=y) -> (Out=o) {transpose_X=true, transpose_Y=true})",
     "Out=FP32[3, 4]"},
    {R"(var x f32[5,1]
        var y f32[4]
        matmul(X=x, Y=y) -> (Out=o) {transpose_Y=true})",
     "Out=FP32[5, 4]"},
    {R"(var x f32[5,3]
        var y f32[4]
        matmul(X=x, Y=y) -> (Out=o) {transpose_Y=true})",
     "error: X [5, 3] has rows of 3 and Y [4] transposed has columns of 1; want equal numbers"},
    {R"(var x f32[3]
        var y f32[1,4]
        matmul_v2(X=x, Y=y) -> (Out=o) {trans_x=true})",
     "error: X [3] has rows of 3 and Y [1, 4] has columns of 1; want equal numbers"},
    {R"(var x f32[5,4]
        var y f32[4]
        matmul_v2(X=x, Y=y) -> (Out=o) {trans_y=true})",
     "Out=FP32[5]"},
    {R"(var x f32[2,3]
        var y f32[4,5]
        matmul_v2(X=x, Y=y) -> (Out=o) {trans_x=true})",
     "error: X [2, 3] transposed has rows of 2 and Y [4, 5] has columns of 4; want equal numbers"},
    {R"(var x f32[2,3,4]
        var y f32[5,4,6]
        matmul_v2(X=x, Y=y) -> (Out=o))",
     "error: X [2] and Y [5] do not broadcast: want equal dimensions or 1, got 2 and 5"},
};
INSTANTIATE_TEST_SUITE_P(Product, Infer, testing::ValuesIn(kProduct));

constexpr InferCase kElementwise[] = {
    {R"(var x f32[-1,8,4,4]
        var y f32[8]
        elementwise_add(X=x, Y=y) -> (Out=o) {axis=1})",
     "Out=FP32[-1, 8, 4, 4]"},
    {R"(var x f32[2,3,4]
        var y f32[2,1]
        elementwise_mul(X=x, Y=y) -> (Out=o) {axis=0})",
     "Out=FP32[2, 3, 4]"},
    {R"(var x f32[4]
        var y f32[2,3,1]
        elementwise_sub(X=x, Y=y) -> (Out=o))",
     "Out=FP32[2, 3, 4]"},
    {R"(var x f32[2,3]
        var y f32[4]
        elementwise_add(X=x, Y=y) -> (Out=o))",
     "error: X [2, 3] and Y [4] do not broadcast: want equal dimensions or 1, got 3 and 4"},
    {R"(var x f32[2,3]
        var y f32[3]
        elementwise_add(X=x, Y=y) -> (Out=o) {axis=5})",
     "error: axis 5 does not place [3] inside [2, 3]; want 0 to 1, or -1"},
    {R"(var x f32[2,3]
        var y f32[3]
        less_than(X=x, Y=y) -> (Out=o))",
     "Out=BOOL[2, 3]"},
    {R"(var x bool[3]
        var y bool[2,1]
        logical_and(X=x, Y=y) -> (Out=o))",
     "Out=BOOL[2, 3]"},
    {R"(var x bool[3]
        logical_not(X=x) -> (Out=o))",
     "Out=BOOL[3]"},
};
INSTANTIATE_TEST_SUITE_P(Elementwise, Infer, testing::ValuesIn(kElementwise));

constexpr InferCase kOthers[] = {
    {R"(var x f32[2,3,4]
        reduce_mean(X=x) -> (Out=y) {dim=[0, -1], keep_dim=true})",
     "Out=FP32[1, 3, 1]"},
    {R"(var x f32[2,3,4]
        reduce_sum(X=x) -> (Out=y) {reduce_all=true, out_dtype=6})",
     "Out=FP64[1]"},
    {R"(var x f32[2,3,4]
        reduce_sum(X=x) -> (Out=y) {out_dtype=99})",
     "error: out_dtype is 99, which is no data type of a tensor; want a VarType.Type such as 5 "
     "(FP32)"},
    {R"(var x f32[4,10]
        top_k(X=x) -> (Out=v, Indices=i) {k=3})",
     "Out=FP32[4, 3] Indices=INT64[4, 3]"},
    {R"(var x f32[4,10]
        arg_max(X=x) -> (Out=i) {axis=1L})",
     "Out=INT64[4]"},
    {R"(var w f32[100,16]
        var i i64[-1,7,1]
        lookup_table(W=w, Ids=i) -> (Out=y))",
     "Out=FP32[-1, 7, 16]"},
    {R"(var w f32[100,16]
        var i i64[-1,7]
        lookup_table_v2(W=w, Ids=i) -> (Out=y))",
     "Out=FP32[-1, 7, 16]"},
    {R"(var w i8[100,16]
        var s f32[100]
        var o i32[1]
        var i i64[-1,7,1]
        integer_lookup_table(W=w, Ids=i, Scales=s, Offsets=o) -> (Out=y) {largest_code=127})",
     "Out=FP32[-1, 7, 16]"},
    {R"(var w i8[100,16]
        var s f32[16]
        var i i64[-1,7]
        integer_lookup_table_v2(W=w, Ids=i, Scales=s) -> (Out=y) {largest_code=127})",
     "error: Scales is [16] and W [100, 16] has 100 rows; want one for all or for each"},
    {R"(var w i8[100,16]
        var s f32[1]
        var i i64[-1,7]
        integer_lookup_table_v2(W=w, Ids=i, Scales=s) -> (Out=y) {largest_code=128})",
     "error: largest_code is 128; want 1 to 127"},
    {R"(var q f32[-1,2,3,8]
        var k f32[-1,2,5,8]
        var v f32[-1,2,5,4]
        var m f32[3,1]
        scaled_dot_product_attention(Q=q, K=k, V=v, Mask=m) -> (Out=y))",
     "Out=FP32[-1, 2, 3, 4]"},
    {R"(var q f32[-1,3,8]
        var k f32[1,5,8]
        var v f32[1,5,4]
        scaled_dot_product_attention(Q=q, K=k, V=v) -> (Out=y))",
     "error: Q is [-1, 3, 8], K [1, 5, 8] and V [1, 5, 4]; want [..., M, D], [..., N, D] and "
     "[..., N, C] with equal leading extents"},
    {R"(var q f32[3,8]
        var k f32[5,8]
        var v f32[5,4]
        var m f32[2,5]
        scaled_dot_product_attention(Q=q, K=k, V=v, Mask=m) -> (Out=y))",
     "error: Mask is [2, 5]; want it to broadcast to the scores, [3, 5]"},
    {R"(var x f32[-1,2,3]
        var w f32[6,5]
        fc(Input=x, W=w) -> (Out=y))",
     "Out=FP32[-1, 5]"},
    {R"(var x f32[-1,2,3]
        var w f32[7,5]
        fc(Input=x, W=w) -> (Out=y))",
     "error: Input [-1, 2, 3] has rows of 6 and W [7, 5] has columns of 7; want equal numbers"},
    {R"(var x f32[-1,2,3]
        var w f32[6,5]
        var b f32[1]
        fc(Input=x, W=w, Bias=b) -> (Out=y))",
     "error: Bias is [1]; want 5 elements"},
    {R"(var x f32[4,3]
        fake_row_wise_quantize_min_max(X=x) -> (Out=q, OutScale=s, OutZeroPoint=z) {quant_axis=1})",
     "Out=FP32[4, 3] OutScale=FP32[3] OutZeroPoint=INT32[3]"},
    {R"(var x f32[4,3]
        fake_row_wise_quantize_min_max(X=x) -> (Out=q, OutScale=s, OutZeroPoint=z) {quant_axis=2})",
     "error: quant_axis is 2 and X is [4, 3]; want an axis of X"},
    {R"(var x i8[4,3]
        var s f32[4]
        var z i32[3]
        fake_row_wise_dequantize(X=x, Scale=s, ZeroPoint=z) -> (Out=y))",
     "error: ZeroPoint is [3] and X [4, 3] has 4 rows on quant_axis 0; want one for each"},
    {R"(var b f32[6]
        var r f32[1]
        var w f32[3]
        fake_quantize_dequantize_bias(X=b, InputScale=r, WeightScale=w) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127})",
     "Out=FP32[6]"},
    {R"(var b i32[6]
        var r f32[1]
        fake_dequantize_bias(X=b, InputScale=r, WeightScale=r) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127})",
     "Out=FP32[6]"},
    {R"(var b f32[6]
        var r f32[1]
        var w f32[4]
        fake_quantize_dequantize_bias(X=b, InputScale=r, WeightScale=w) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127})",
     "error: WeightScale is [4] and X [6]; want one range, or one for each channel, or for each of "
     "a group"},
    {R"(var b f32[6,1]
        var r f32[1]
        fake_quantize_dequantize_bias(X=b, InputScale=r, WeightScale=r) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127})",
     "error: X is [6, 1]; want one number for each channel"},
    {R"(var b f32[6]
        var r f32[1]
        fake_quantize_dequantize_bias(X=b, InputScale=r, WeightScale=r) -> (Out=y) {
          input_largest_code=0, weight_largest_code=127})",
     "error: input_largest_code is 0; want 1 or more"},
    {R"(var x f32[-1,6,5,5]
        var r f32[1]
        var w f32[6]
        fake_requantize(X=x, InputScale=r, WeightScale=w, OutputScale=r) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127, output_largest_code=255, channel_axis=1})",
     "Out=FP32[-1, 6, 5, 5]"},
    {R"(var x f32[-1,6,5,5]
        var r f32[1]
        var w f32[4]
        fake_requantize(X=x, InputScale=r, WeightScale=w, OutputScale=r) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127, output_largest_code=255, channel_axis=1})",
     "error: WeightScale is [4] and X [-1, 6, 5, 5] with channels on axis 1; want one range, or "
     "one "
     "for each channel, or for each of a group"},
    {R"(var x f32[-1,6]
        var r f32[1]
        fake_requantize(X=x, InputScale=r, WeightScale=r, OutputScale=r) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127, output_largest_code=255, channel_axis=2})",
     "error: channel_axis is 2; want an axis of X"},
    {R"(var x f32[-1,6]
        var r f32[1]
        fake_requantize(X=x, InputScale=r, WeightScale=r, OutputScale=r) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127, output_largest_code=0, channel_axis=1})",
     "error: output_largest_code is 0; want 1 or more"},
    {R"(var x f32[-1,6]
        var r f32[1]
        fake_requantize(X=x, InputScale=r, WeightScale=r, OutputScale=r) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127, output_largest_code=255, channel_axis=1,
          multiplier_bits=8})",
     "error: multiplier_bits is 8; want 16 or 32"},
    {R"(var x f32[-1,6]
        var r f32[1]
        fake_requantize(X=x, InputScale=r, WeightScale=r, OutputScale=r) -> (Out=y) {
          input_largest_code=255, weight_largest_code=127, output_largest_code=255, channel_axis=1,
          roundings=3})",
     "error: roundings is 3; want 1 or 2"},
    {R"(var b i32[6]
        var r f32[1]
        fake_dequantize_bias(X=b, InputScale=r) -> (Out=y) {
          input_largest_code=32767, weight_largest_code=1})",
     "Out=FP32[6]"},
    {R"(var b f32[6]
        var r f32[1]
        fake_quantize_dequantize_bias(X=b, InputScale=r) -> (Out=y) {
          input_largest_code=32767, weight_largest_code=127})",
     "error: weight_largest_code is 127, and there is no WeightScale; want 1"},
    {R"(var b f32[6]
        var r f32[1]
        fake_quantize_dequantize_bias(X=b, InputScale=r, WeightScale=r) -> (Out=y) {
          bit_length=8, input_largest_code=255, weight_largest_code=127})",
     "error: bit_length is 8; want 16 or 32"},
    {R"(var x i8[4,3]
        var w i8[3,2]
        var s f32[2]
        var z i32[3]
        integer_row_wise_fc(X=x, Y=w, Scales=s, Offsets=z) -> (Out=y))",
     "error: Offsets is [3] and Y [3, 2]; want a matrix, and one for each column"},
    {R"(fill_constant() -> (Out=y) {shape=[2L, 3L], dtype=3})", "Out=INT64[2, 3]"},
    {R"(fill_constant() -> (Out=y) {shape=[2L, -3L]})",
     "error: shape is [2, -3]; want sizes, or -1 where one is not known"},
    {R"(var x f32[-2,4]
        relu(X=x) -> (Out=y))",
     "Out=FP32[-1, 4]"},
    {R"(fill_constant() -> (Out=y) {shape=[2L, 3L], dtype=7})",
     "error: dtype is 7, which is no data type of a tensor; want a VarType.Type such as 5 (FP32)"},
    {R"(var x f32[2,3]
        cast(X=x) -> (Out=y) {in_dtype=5, out_dtype=21})",
     "Out=INT8[2, 3]"},
    {R"(var x f32[4,10]
        softmax_with_cross_entropy(Logits=x, Label=l) -> (Softmax=s, Loss=y))",
     "Softmax=FP32[4, 10] Loss=FP32[4, 1]"},
    {R"(var x f32[4,8,2,2]
        var m f32[8]
        var b f32[7]
        batch_norm(X=x, Mean=m, Variance=m, Bias=b) -> (Y=y))",
     "error: Bias is [7]; want 8 elements"},
    {R"(var x f32[-1,8,2,2]
        var m f32[8]
        batch_norm(X=x, Mean=m, Variance=m) -> (Y=y, MeanOut=m, SavedMean=s))",
     "Y=FP32[-1, 8, 2, 2] MeanOut=FP32[8] SavedMean=FP32[8]"},
    {R"(var x f32[1,255,13,13]
        yolo_box(X=x, ImgSize=s) -> (Boxes=b, Scores=p) {anchors=[1, 2, 3, 4, 5, 6], class_num=80})",
     "Boxes=FP32[1, 507, 4] Scores=FP32[1, 507, 80]"},
    {R"(var x f32[-1,3,32,100]
        var g f32[-1,16,50,2]
        grid_sampler(X=x, Grid=g) -> (Output=y))",
     "Output=FP32[-1, 3, 16, 50]"},
    {R"(var x f32[4,3,32,100]
        var g f32[4,16,50,3]
        grid_sampler(X=x, Grid=g) -> (Output=y))",
     "error: Grid is [4, 16, 50, 3] and X is [4, 3, 32, 100]; want [X's batch, height, width, 2]"},
    {R"(var x f32[1,8,13,13]
        nearest_interp_v2(X=x) -> (Out=y) {scale=[2.0, 2.0]})",
     "Out=FP32[1, 8, 26, 26]"},
    {R"(var x f32[1,3,10,10]
        nearest_interp(X=x) -> (Out=y) {scale=0.7})",
     "Out=FP32[1, 3, 7, 7]"},
    {R"(var p f32[8,4]
        var v f32[8,4]
        momentum(Param=p, Grad=g, Velocity=v, LearningRate=l) -> (ParamOut=p, VelocityOut=v))",
     "ParamOut=FP32[8, 4] VelocityOut=FP32[8, 4]"},
    {R"(var x f32[8,4]
        relu_grad(Out=x, Out@GRAD=x) -> (X@GRAD=g))",
     "X@GRAD=FP32[8, 4]"},
    {R"(var s f32[0,8,4]
        reshape2_grad(XShape=s, Out@GRAD=g) -> (X@GRAD=d))",
     "X@GRAD=FP32[8, 4]"},
    {R"(var x f32[8,4]
        relu(X=[], X=x) -> (Out=y))",
     "Out=FP32[8, 4]"},
    {R"(warp(X=x) -> (Out=[a, b]))", "Out=?? Out=??"},
};
INSTANTIATE_TEST_SUITE_P(Others, Infer, testing::ValuesIn(kOthers));

TEST(InferOfAnEra, MaskOfDropoutHasADtypeSince2) {
  const char* kDropout = R"(
      var x f32[2,3]
      dropout(X=x) -> (Out=y, Mask=m))";
  EXPECT_EQ(Inferred(kDropout, Era::kFluid), "Out=FP32[2, 3] Mask=?[2, 3]");
  EXPECT_EQ(Inferred(kDropout, Era::kPaddle2), "Out=FP32[2, 3] Mask=UINT8[2, 3]");
}

TEST(InferOfAnEra, TakesTheDefaultOfAnAttributeThatCameLater) {
  const char* kQuantize = R"(
      var w f32[6,3]
      fake_channel_wise_quantize_abs_max(X=w) -> (Out=q, OutScale=s))";
  EXPECT_EQ(Inferred(kQuantize, Era::kFluid), "Out=FP32[6, 3] OutScale=FP32[6]");
  // class_num had no default before.
  const char* kBoxes = R"(
      var x f32[1,18,13,13]
      yolo_box(X=x, ImgSize=i) -> (Boxes=b, Scores=p) {anchors=[1, 2, 3, 4, 5, 6]})";
  EXPECT_EQ(Inferred(kBoxes, Era::kFluid), "Boxes=?? Scores=??");
  EXPECT_EQ(Inferred(kBoxes, Era::kPaddle2), "Boxes=FP32[1, 507, 4] Scores=FP32[1, 507, 1]");
}

TEST(InferOfAHostileFile, DimensionsPastAllSenseAreNotRead) {
  std::string dims = "1";
  for (int i = 0; i < 100; ++i) dims += ",1";
  EXPECT_EQ(Inferred(absl::StrCat("var x f32[", dims, "]\nrelu(X=x) -> (Out=y)"), Era::kPaddle2),
            "Out=FP32?");
}

}  // namespace
}  // namespace fixpoint
