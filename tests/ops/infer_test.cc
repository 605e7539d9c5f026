// One op per case: its inputs' declarations, and what is inferred of its outputs, or the error.

#include "ops/infer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

struct Case {
  const char* program;  // variables, then one op; 2.x unless it says otherwise
  const char* inferred;
};

// "Out=FP32[2, 3] XShape=?[0]": each output argument with what is known of it.
std::string Inferred(const std::string& text, Era era) {
  const ProgramDesc program = DescFromText(text);
  const BlockDesc& block = program.blocks(0);
  const auto find = [&](absl::string_view name) -> const VarDesc* {
    for (const VarDesc& var : block.vars()) {
      if (var.name() == name) return &var;
    }
    return nullptr;
  };
  const OpDesc& op = block.ops(0);
  const auto outputs = InferOutputs(op, era, find);
  if (!outputs.ok()) return absl::StrCat("error: ", outputs.status().message());
  std::vector<std::string> parts;
  size_t i = 0;
  for (const OpDesc::Var& slot : op.outputs()) {
    for (int k = 0; k < slot.arguments_size(); ++k, ++i) {
      const InferredOutput& output = (*outputs)[i];
      parts.push_back(absl::StrCat(slot.parameter(), "=",
                                   output.dtype ? VarType::Type_Name(*output.dtype) : "?",
                                   output.dims ? DimsText(*output.dims) : "?",
                                   output.kind == VarType::SELECTED_ROWS ? " rows" : ""));
    }
  }
  return absl::StrJoin(parts, " ");
}

class Infer : public testing::TestWithParam<Case> {};

TEST_P(Infer, TellsTheOutputs) {
  EXPECT_EQ(Inferred(GetParam().program, Era::kPaddle2), GetParam().inferred) << GetParam().program;
}

TEST(InferLists, SaysOfEachOfAListWhetherItIsSelectedRows) {
  EXPECT_EQ(Inferred(R"(var sparse selected_rows f32[9,2]
                        var dense f32[3,2]
                        c_sync_comm_stream(X=[sparse, dense]) -> (Out=[a, b]))",
                     Era::kPaddle2),
            "Out=FP32[9, 2] rows Out=FP32[3, 2]");
}

constexpr Case kConvolution[] = {
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

constexpr Case kPooling[] = {
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

constexpr Case kProduct[] = {
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

constexpr Case kElementwise[] = {
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

constexpr Case kFakeQuantize[] = {
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
    {R"(var x f32[-1,8]
        fake_quantize_dequantize_lsq(X=x, InScale=s) -> (Out=q, OutScale=s, OutInitialized=i))",
     "Out=FP32[-1, 8] OutScale=FP32[1] OutInitialized=FP32[1]"},
    {R"(var x f32[-1,8]
        fake_quantize_dequantize_lsq(X=x, InScale=s) -> (Out=q, OutScale=s) {bit_length=1})",
     "error: bit_length is 1; want 2 to 16"},
    {R"(var w f32[16,8]
        fake_channel_wise_quantize_dequantize_lsq(X=w, InScale=s) -> (Out=q, OutScale=s) {quant_axis=1})",
     "Out=FP32[16, 8] OutScale=FP32[8]"},
    {R"(var w f32[16,8]
        fake_channel_wise_quantize_dequantize_lsq(X=w, InScale=s) -> (Out=q, OutScale=s) {quant_axis=2})",
     "error: quant_axis is 2 and X is [16, 8]; want an axis of X"},
    {R"(var w f32[16,8]
        var s f32[8]
        fake_channel_wise_quantize_dequantize_lsq_grad(X=w, OutScale=s, Out@GRAD=g) -> (X@GRAD=dw, InScale@GRAD=ds))",
     "X@GRAD=FP32[16, 8] InScale@GRAD=FP32[8]"},
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

constexpr Case kLowered[] = {
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
    {R"(var q u8[-1,8,16,4]
        var k i8[-1,8,16,4]
        integer_matmul(X=q, Y=k, Scales=s) -> (Out=y) {trans_y=true})",
     "Out=FP32[-1, 8, 16, 16]"},
    {R"(var q u8[-1,12]
        var w i8[12,5]
        integer_mul(X=q, Y=w, Scales=s) -> (Out=y) {epilogue=["tanh"], epilogue_a=[0.0], epilogue_b=[0.0]})",
     "error: epilogue names \"tanh\", which is no stage"},
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
};
INSTANTIATE_TEST_SUITE_P(Lowered, Infer, testing::ValuesIn(kLowered));

constexpr Case kShape[] = {
    {R"(var x f32[-1,8,4,4]
        reshape2(X=x) -> (Out=y, XShape=s) {shape=[0, -1]})",
     "Out=FP32[-1, -1] XShape=FP32[0, -1, 8, 4, 4]"},
    {R"(var x f32[2,8,4]
        reshape2(X=x) -> (Out=y) {shape=[0, 4, -1]})",
     "Out=FP32[2, 4, 8]"},
    {R"(var x f32[2,3]
        reshape2(X=x) -> (Out=y) {shape=[4, -1]})",
     "error: X [2, 3] has 6 elements, which do not fill shape [4, -1]"},
    {"var x f32[6,10]\nlstm(Input=x) -> (Hidden=h)",
     "error: Input is [6, 10]; want a second dim that 4 gates divide"},
    {R"(var x f32[2,3]
        reshape2(X=x) -> (Out=y) {shape=[-1, -1]})",
     "error: shape is [-1, -1] and X is [2, 3]; want sizes, 0 where X has a dimension, and at most "
     "one -1"},
    {R"(var x f32[2,3]
        reshape2(X=x, Shape=n) -> (Out=y) {shape=[4, -1]})",
     "Out=FP32?"},
    {R"(var x f32[2,3,4]
        transpose2(X=x) -> (Out=y) {axis=[0, 2, 1]})",
     "Out=FP32[2, 4, 3]"},
    {R"(var x f32[2,3,4]
        transpose2(X=x) -> (Out=y) {axis=[0, 2, 2]})",
     "error: axis is [0, 2, 2] and X is [2, 3, 4]; want a permutation of its 3 axes"},
    {R"(var x f32[2,1,4]
        squeeze2(X=x) -> (Out=y) {axes=[1]})",
     "Out=FP32[2, 4]"},
    {R"(var x f32[-1,1,4]
        squeeze2(X=x) -> (Out=y))",
     "Out=FP32?"},
    {R"(var x f32[2,4]
        unsqueeze2(X=x) -> (Out=y) {axes=[0, -1]})",
     "Out=FP32[1, 2, 4, 1]"},
    {R"(var x f32[2,3,4]
        flatten2(X=x) -> (Out=y) {axis=2})",
     "Out=FP32[6, 4]"},
    {R"(var x f32[2,3,4,5]
        flatten_contiguous_range(X=x) -> (Out=y) {start_axis=1, stop_axis=-1})",
     "Out=FP32[2, 60]"},
    {R"(var x f32[2,3,4,5]
        flatten_contiguous_range(X=x) -> (Out=y) {start_axis=2, stop_axis=1})",
     "error: start_axis 2 is after stop_axis 1"},
    {R"(var x f32[2,12,5,5]
        pixel_shuffle(X=x) -> (Out=y) {upscale_factor=2})",
     "Out=FP32[2, 3, 10, 10]"},
    {R"(var x f32[2,10,5,5]
        pixel_shuffle(X=x) -> (Out=y) {upscale_factor=2})",
     "error: upscale_factor is 2 and X is [2, 10, 5, 5]; want a square of it to divide X's "
     "channels"},
};
INSTANTIATE_TEST_SUITE_P(Shape, Infer, testing::ValuesIn(kShape));

constexpr Case kJoining[] = {
    {R"(var x f32[-1,8,4]
        var y f32[-1,3,4]
        concat(X=[x, y]) -> (Out=o) {axis=1})",
     "Out=FP32[-1, 11, 4]"},
    {R"(var x f32[2,8]
        var y f32[3,8]
        concat(X=[x, y]) -> (Out=o) {axis=1})",
     "error: X[1] is [3, 8] and X[0] is [2, 8]; want them equal but for axis 1"},
    {R"(var x f32[2,9]
        split(X=x) -> (Out=[a, b, c]) {num=3, axis=1})",
     "Out=FP32[2, 3] Out=FP32[2, 3] Out=FP32[2, 3]"},
    {R"(var x f32[2,9]
        split(X=x) -> (Out=[a, b]) {sections=[4, -1], axis=-1})",
     "Out=FP32[2, 4] Out=FP32[2, 5]"},
    {R"(var x f32[2,9]
        split(X=x) -> (Out=[a, b]) {sections=[4, 4], axis=1})",
     "error: num is 0 and sections is [4, 4], for 2 outputs of an axis of 9; want as many equal "
     "parts, or sections that add up"},
    {R"(var x f32[5,6,7]
        slice(Input=x) -> (Out=y) {axes=[0, 1], starts=[1, -2], ends=[100, -1]})",
     "Out=FP32[4, 1, 7]"},
    {R"(var x f32[5,6,7]
        slice(Input=x) -> (Out=y) {axes=[0], starts=[2], ends=[3], decrease_axis=[0]})",
     "Out=FP32[6, 7]"},
    {R"(var x f32[5,6,7]
        slice(Input=x) -> (Out=y) {axes=[3], starts=[2], ends=[3]})",
     "error: axis 3 is not one of a tensor of 3 dimensions; want -3 to 2"},
    {R"(var x f32[5,6]
        stack(X=[x, x]) -> (Y=y) {axis=-1})",
     "Y=FP32[5, 6, 2]"},
    {R"(var x f32[5,6]
        expand(X=x) -> (Out=y) {expand_times=[2, 1]})",
     "Out=FP32[10, 6]"},
    {R"(var x f32[1,2,3,4]
        pad2d(X=x) -> (Out=y) {paddings=[1, 1, 2, 2]})",
     "Out=FP32[1, 2, 5, 8]"},
    {R"(var x f32[1,2,3,4]
        pad2d(X=x) -> (Out=y) {paddings=[9223372036854775807L, 9223372036854775807L, 0L, 0L]})",
     "error: paddings [9223372036854775807, 9223372036854775807, 0, 0] leave no size"},
};
INSTANTIATE_TEST_SUITE_P(Joining, Infer, testing::ValuesIn(kJoining));

constexpr Case kOthers[] = {
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
      var x f32[1,255,13,13]
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
