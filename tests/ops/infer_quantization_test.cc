// What is inferred of ops that quantize, and of the ops of lowered programs.

#include <gtest/gtest.h>

#include "tests/ops/inferred_outputs.h"

namespace fixpoint {
namespace {

TEST_P(Infer, TellsTheOutputs) { ExpectOutputs(); }

constexpr InferCase kFakeQuantize[] = {
    {R"(var x f32[-1,8]
        fake_quantize_abs_max(X=x) -> (Out=q, OutScale=s))",
     "Out=FP32[-1, 8] OutScale=FP32[1]"},
    {R"(fake_quantize_abs_max(X=x) -> (Out=q, OutScale=s))", "Out=?? OutScale=?[1]"},
    {R"(var w f32[16,8,3,3]
        fake_channel_wise_quantize_abs_max(X=w) -> (Out=q, OutScale=s) {quant_axis=1})",
     "Out=FP32[16, 8, 3, 3] OutScale=FP32[8]"},
    {R"(var w f32[16,8,3,3]
        fake_channel_wise_quantize_abs_max(X=w) -> (Out=q, OutScale=s) {quant_axis=2})",
     "error: quant_axis is 2 and X is [16, 8, 3, 3]; want 0 or 1, an axis of X"},
    {R"(var w f32[10,18]
        var i i64[-1,1]
        lookup_table_dequant(W=w, Ids=i) -> (Out=y))",
     "Out=FP32[-1, 64]"},
    {R"(var w u8[10,36]
        var i i64[-1,1]
        lookup_table_dequant(W=w, Ids=i) -> (Out=y) {row_format="fused4_fp16"})",
     "Out=FP32[-1, -1]"},
    {R"(var w u8[10,36]
        var i i64[-1,1]
        lookup_table_dequant(W=w, Ids=i) -> (Out=y) {row_format="fused4_fp32"})",
     "error: row_format: there is no format of rows \"fused4_fp32\"; did you mean fused4_fp16?"},
    {R"(var x f32[-1,8]
        fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=q))",
     "Out=FP32[-1, 8]"},
    {R"(var x f32[-1,8]
        fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=q) {bit_length=1})",
     "error: bit_length is 1; want 2 to 16"},
    {R"(var x f32[-1,8]
        fake_quantize_dequantize_at_range(X=x, InScale=s) -> (Out=q) {surrogate="tanh"})",
     "error: surrogate is \"tanh\"; want clamp_then_round, round_then_clamp or clamp"},
    {R"(var w f32[16,8]
        var s f32[16]
        fake_quantize_dequantize_at_range(X=w, InScale=s) -> (Out=q) {quant_axis=1})",
     "error: InScale is [16]; want [8]"},
    {R"(var w f32[16,8]
        fake_quantize_dequantize_at_range(X=w, InScale=s) -> (Out=q) {quant_axis=2})",
     "error: quant_axis is 2 and X is [16, 8]; want -1 or an axis of X"},
    {R"(var w f32[16,8]
        var s f32[8]
        fake_quantize_dequantize_at_range_grad(X=w, InScale=s, Out@GRAD=g) -> (X@GRAD=dw, InScale@GRAD=ds))",
     "X@GRAD=FP32[16, 8] InScale@GRAD=FP32[8]"},
    {R"(var x f32[-1,8]
        var s f32[1]
        var z f32[1]
        fake_quantize_dequantize_affine(X=x, InScale=s, InZeroPoint=z) -> (Out=q))",
     "Out=FP32[-1, 8]"},
    {R"(var x f32[-1,8]
        var z f32[8]
        fake_quantize_dequantize_affine(X=x, InScale=s, InZeroPoint=z) -> (Out=q))",
     "error: InZeroPoint is [8]; want [1]"},
    {R"(var x f32[-1,8]
        var s f32[1]
        var z f32[1]
        fake_quantize_dequantize_affine_grad(X=x, InScale=s, InZeroPoint=z, Out@GRAD=g) -> (
          X@GRAD=dx, InScale@GRAD=ds, InZeroPoint@GRAD=dz))",
     "X@GRAD=FP32[-1, 8] InScale@GRAD=FP32[1] InZeroPoint@GRAD=FP32[1]"},
    {R"(var x f32[-1,8]
        select_from_step(X=q, Before=x, Step=t) -> (Out=y) {from_step=3L})",
     "Out=??"},
    {R"(var x f32[-1,8]
        select_from_step(Before=x, Step=t) -> (Out=y) {from_step=3L})",
     "Out=FP32[-1, 8]"},
    {R"(var x f32[4]
        fake_quantize_range_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s, OutScales=w) {window_size=100})",
     "Out=FP32[4] OutScale=FP32[1] OutScales=FP32[100]"},
    {R"(var x f32[4]
        fake_quantize_range_abs_max(X=x, InScale=s) -> (Out=q, OutScale=s) {window_size=0})",
     "error: window_size is 0; want 1 or more"},
    {R"(var x f32[4]
        fake_quantize_abs_max(X=x) -> (Out=q, OutScale=s) {bit_length=17})",
     "error: bit_length is 17; want 1 to 16"},
    {R"(var x f32[4]
        moving_average_abs_max_scale(X=x) -> (OutScale=s, OutState=n, OutAccum=a))",
     "OutScale=FP32[1] OutState=FP32[1] OutAccum=FP32[1]"},
    {R"(var w f32[16,8]
        var s f32[8]
        fake_channel_wise_dequantize_max_abs(X=w, Scales=s) -> (Out=d) {quant_axis=0})",
     "error: Scales is [8] and X [16, 8] has 16 channels on quant_axis 0; want equal numbers"},
    {R"(var w f32[16,8]
        var s f32[8]
        var a f32[1]
        fake_channel_wise_dequantize_max_abs(X=w, Scales=[s, a]) -> (Out=d) {quant_bits=[8]})",
     "error: quant_bits has 1 values; want one per argument of Scales: 2"},
    {R"(var w i8[16,8]
        var s f32[16]
        dequantize_linear(X=w, Scale=s, ZeroPoint=z) -> (Y=d))",
     "Y=FP32[16, 8]"},
    {R"(var x f32[16,8]
        quantize(Input=x) -> (Output=q) {Scale=2.0, is_negative_input=true})",
     "Output=INT8[16, 8]"},
    {R"(var g f32[16,8]
        stright_throuth_estimator_grad(Out@GRAD=g) -> (X@GRAD=d))",
     "X@GRAD=FP32[16, 8]"},
};
INSTANTIATE_TEST_SUITE_P(FakeQuantize, Infer, testing::ValuesIn(kFakeQuantize));

constexpr InferCase kLowered[] = {
    {R"(var q u8[-1,3,8,8]
        var w i8[4,3,3,3]
        integer_conv2d(Input=q, Filter=w, Scales=s) -> (Output=y))",
     "Output=FP32[-1, 4, 6, 6]"},
    {R"(var q u8[-1,3,8,8]
        var w i8[4,3,3,3]
        integer_conv2d(Input=q, Filter=w, Scales=s, Operands=b) -> (Output=y) {epilogue=["add_channel", "relu"], epilogue_a=[0.0, 0.0], epilogue_b=[0.0, 0.0], out_dtype=20, out_range=2.0, out_largest_code=255})",
     "Output=UINT8[-1, 4, 6, 6]"},
    {R"(var q u8[-1,12]
        var w i8[12,5]
        integer_mul(X=q, Y=w, Scales=s) -> (Out=y) {epilogue=["relu"]})",
     "error: epilogue names 1 stages, epilogue_a has 0 numbers and epilogue_b 0; want one of each "
     "for each stage"},
    {R"(var q u8[-1,12]
        var w i8[12,5]
        integer_matmul(X=q, Y=w, Scales=s) -> (Out=y) {epilogue=["add_channel"], epilogue_a=[0.0], epilogue_b=[0.0]})",
     "error: the epilogue has 1 stages with an operand and Operands 0; want one for each"},
    {R"(var q u8[-1,12]
        var w i8[12,5]
        var b i32[5]
        integer_mul(X=q, Y=w, Scales=s, Operands=b) -> (Out=y) {epilogue=["add_channel"], epilogue_a=[0.0], epilogue_b=[0.0]})",
     "Out=FP32[-1, 5]"},
    {R"(var q u8[-1,12]
        var w i8[12,5]
        var b i32[5]
        integer_mul(X=q, Y=w, Scales=s, Operands=[b, b]) -> (Out=y) {epilogue=["add_channel", "requantize"], epilogue_a=[0.0, 1.0], epilogue_b=[0.0, 0.0]})",
     "error: the operand of requantize is INT32; want FP32"},
    {R"(var q u8[-1,12]
        var w i8[12,5]
        var b i16[5]
        integer_mul(X=q, Y=w, Scales=s, Operands=b) -> (Out=y) {epilogue=["add_channel"], epilogue_a=[0.0], epilogue_b=[0.0]})",
     "error: the operand of add_channel is INT16; want FP32 or INT32"},
    {R"(var q u8[-1,8,16,4]
        var k i8[-1,8,16,4]
        integer_matmul(X=q, Y=k, Scales=s) -> (Out=y) {trans_y=true})",
     "Out=FP32[-1, 8, 16, 16]"},
    {R"(var q u8[-1,12]
        var w i8[12,5]
        integer_mul(X=q, Y=w, Scales=s) -> (Out=y) {epilogue=["tanh"], epilogue_a=[0.0], epilogue_b=[0.0]})",
     "error: epilogue names \"tanh\", which is no stage"},
    {R"(var q u8[-1,12]
        var w i8[12,5]
        integer_mul(X=q, Y=w, Scales=s) -> (Out=y) {epilogue="relu"})",
     "error: attribute epilogue is string; want strings"},
    {R"(var q u8[-1,6,8,8]
        var w i8[6,2,2,2]
        integer_conv2d_transpose(Input=q, Filter=w, Scales=s) -> (Output=y) {strides=[2, 2], groups=3, output_size=[17, 16]})",
     "Output=FP32[-1, 6, 17, 16]"},
    {R"(var q u8[-1,3,8,8]
        integer_average_pool2d(X=q, Scales=s) -> (Out=y) {ksize=[2, 2], strides=[2, 2]})",
     "Out=FP32[-1, 3, 4, 4]"},
    {R"(var q u8[-1,3,8,8]
        integer_average_pool2d(X=q, Scales=s) -> (Out=y) {ksize=[1, 1], global_pooling=true, epilogue=["multiply"], epilogue_a=[127.5], epilogue_b=[0.0], out_dtype=20, out_range=2.0, out_largest_code=255})",
     "Out=UINT8[-1, 3, 1, 1]"},
    {R"(var q u8[-1,3,8,8]
        var r i8[-1,3,1,1]
        integer_elementwise_mul(X=q, Y=r, Scales=s) -> (Out=y) {epilogue=["multiply"], epilogue_a=[127.5], epilogue_b=[0.0], out_dtype=21, out_range=2.0, out_largest_code=127})",
     "Out=INT8[-1, 3, 8, 8]"},
    {R"(var q u8[-1,3,8]
        var r i8[-1,3,7]
        integer_elementwise_mul(X=q, Y=r, Scales=s) -> (Out=y))",
     "error: X [-1, 3, 8] and Y [-1, 3, 7] do not broadcast: want equal dimensions or 1, got 8 and "
     "7"},
    {R"(var x f32[-1,12]
        integer_quantize(X=x) -> (Out=q) {multiplier=63.5, smallest_code=-128, out_dtype=21, out_range=2.0, out_largest_code=127})",
     "Out=INT8[-1, 12]"},
    {R"(var x f32[-1,12]
        integer_quantize(X=x) -> (Out=q) {multiplier=63.5, smallest_code=-128, out_dtype=21, out_range=2.0, out_largest_code=255})",
     "error: out_largest_code is 255; want 1 to 127"},
    {R"(var x f32[-1,12]
        integer_quantize(X=x) -> (Out=q) {multiplier=63.5, smallest_code=-1, out_dtype=20, out_range=2.0, out_largest_code=127})",
     "error: smallest_code is -1; want 0 to out_largest_code"},
    {R"(var x f32[-1,12]
        integer_quantize(X=x) -> (Out=q) {multiplier=inf, smallest_code=-128, out_dtype=21, out_range=2.0, out_largest_code=127})",
     "error: multiplier is inf; want a finite number above 0"},
    {R"(var x f32[-1,12]
        integer_quantize(X=x) -> (Out=q) {multiplier=63.5, smallest_code=-128, out_dtype=21, out_range=2.0, out_largest_code=127, out_zero_point=128})",
     "error: out_zero_point is 128; want -128 to 127"},
    {R"(var x f32[-1,12]
        integer_quantize(X=x) -> (Out=q) {multiplier=1000.0, smallest_code=-32768, out_dtype=1, out_range=2.0, out_largest_code=32767})",
     "Out=INT16[-1, 12]"},
    {R"(var x f32[-1,12]
        integer_quantize(X=x) -> (Out=q) {multiplier=1000.0, smallest_code=-32768, out_dtype=5, out_range=2.0, out_largest_code=32767})",
     "error: out_dtype is 5; want INT8, INT16 or UINT8"},
    {R"(var x f32[-1,12]
        integer_quantize(X=x) -> (Out=q) {multiplier=1000.0, smallest_code=-32768, out_dtype=77, out_range=2.0, out_largest_code=32767})",
     "error: out_dtype is 77, which is no data type of a tensor; want a VarType.Type such as 5 "
     "(FP32)"},
    {R"(var q u8[-1,3,8,8]
        var r i8[-1,3,4,4]
        integer_average_pool2d(X=q, Scales=s, Operands=r) -> (Out=y) {ksize=[2, 2], strides=[2, 2], epilogue=["add_int8"], epilogue_a=[0.5], epilogue_b=[128.0]})",
     "error: the zero point of add_int8 is 128; want a code, -128 to 127"},
    {R"(var q u8[-1,12]
        var t f32[256]
        integer_table(X=q, Table=t) -> (Out=y))",
     "Out=FP32[-1, 12]"},
    {R"(var q i8[-1,12]
        var t u8[256]
        integer_table(X=q, Table=t) -> (Out=y) {out_dtype=20, out_range=1.0, out_largest_code=255})",
     "Out=UINT8[-1, 12]"},
    {R"(var q u8[-1,12]
        var t f32[255]
        integer_table(X=q, Table=t) -> (Out=y))",
     "error: Table is [255]; want [256], an entry for each code"},
    {R"(var q u8[-1,12]
        integer_dequantize(X=q) -> (Out=x) {range=2.0, largest_code=255})",
     "Out=FP32[-1, 12]"},
    {R"(var x f32[-1,12]
        var q u8[-1,12]
        integer_add(X=x, Y=q) -> (Out=y) {range=2.0, largest_code=255})",
     "Out=FP32[-1, 12]"},
    {R"(var x f32[-1,12]
        var q u8[12]
        integer_add(X=x, Y=q) -> (Out=y) {range=2.0, largest_code=255})",
     "error: X is [-1, 12] and Y [12]; want equal dimensions"},
    {R"(var x f32[-1,12]
        var q u8[-1,-1]
        integer_add(X=x, Y=q) -> (Out=y) {range=2.0, largest_code=255})",
     "Out=FP32[-1, 12]"},
};
INSTANTIATE_TEST_SUITE_P(Lowered, Infer, testing::ValuesIn(kLowered));

}  // namespace
}  // namespace fixpoint
