// Products and averages of codes, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// As text.
std::string PlanOf(const char* text, const std::string& inputs, const std::string& fetch) {
  const Program program = ParsedProgram(text);
  Scope scope = *ParseParameters(inputs, "inputs");
  const auto executor = Executor::Create(program, &scope);
  if (!executor.ok()) return executor.status().ToString();
  const auto plan = (*executor)->PlanOf({}, {fetch});
  return plan.ok() ? PlanText(**plan) : plan.status().ToString();
}

// Codes of 16 bits, as text.
std::string Codes(int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) absl::StrAppend(&text, " ", i * 7919 % 65536 - 32768);
  return text + "\n";
}

// Weights of 8 bits pass through a cast to the op that says their ranges, and stay integers.
TEST(FrozenConvolution, IsOneOfIntegers) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        cast(X=w) -> (Out=wf) {in_dtype=21, out_dtype=5}
        dequantize_linear(X=wf, Scale=ws, ZeroPoint=zero) -> (Y=wd) {quant_axis=0, bit_length=8}
        quantize_linear(X=x, Scale=xs, ZeroPoint=zero) -> (Y=xq) {quant_axis=-1, bit_length=8}
        dequantize_linear(X=xq, Scale=xs, ZeroPoint=zero) -> (Y=xd) {quant_axis=-1, bit_length=8}
        conv2d(Input=xd, Filter=wd) -> (Output=y)
      })";
  const std::string inputs = Drawn("x", {2, 2, 3, 3}) +
                             "w i8[2,2,1,2] 127 -127 5 0 64 -1 100 3\n"
                             "ws f32[2] 0.5 2\nxs f32[1] 0.8\nzero f32[1] 0\n";
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-5, {"y"}), "");

  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::HasSubstr("conv2d on integers"));
}

// Weights per channel and activations in 8 bits: the sums are exact, their scale is rounded.
TEST(QuantizedConvolution, IsAsIfOnNumbers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var scale f32[1] persistable
        var state f32[1] persistable
        var accum f32[1] persistable
        fake_quantize_moving_average_abs_max(X=x, InScale=scale, InState=state, InAccum=accum) -> (
          Out=xq, OutScale=scale, OutState=state, OutAccum=accum) {bit_length=8}
        fake_dequantize_max_abs(X=xq, Scale=scale) -> (Out=xd) {max_range=127.0}
        fake_channel_wise_quantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {bit_length=8, quant_axis=0}
        fake_channel_wise_dequantize_max_abs(X=wq, Scales=ws) -> (Out=wd) {quant_bits=[8], quant_axis=0}
        conv2d(Input=xd, Filter=wd) -> (Output=y)
        conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw)
      })",
                          Drawn("x", {2, 4, 5, 5}) + Drawn("w", {6, 4, 3, 3}) +
                              Drawn("dy", {2, 6, 3, 3}) +
                              "scale f32[1] 0.5\nstate f32[1] 1\naccum f32[1] 0.5\n",
                          1e-5, {"y", "dx", "dw"}),
            "");
}

// Two groups of three channels, which have one range each in both groups.
TEST(QuantizedTransposedConvolution, IsAsIfOnNumbers) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
        fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {
          bit_length=8, quant_axis=1}
        conv2d_transpose(Input=xd, Filter=wd) -> (Output=y) {
          strides=[2, 1], paddings=[1, 0], groups=2}
        conv2d_transpose_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (
          Input@GRAD=dx, Filter@GRAD=dw) {strides=[2, 1], paddings=[1, 0], groups=2}
      })";
  const std::string inputs =
      Drawn("x", {2, 4, 5, 4}) + Drawn("w", {4, 3, 3, 2}) + Drawn("dy", {2, 6, 9, 5});
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-5, {"y", "dx", "dw"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::HasSubstr("conv2d_transpose on integers"));
}

TEST(QuantizedProduct, IsAsIfOnNumbers) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
        fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {
          bit_length=4, quant_axis=1}
        mul(X=xd, Y=wd) -> (Out=y)
        mul_grad(X=xd, Y=wd, Out@GRAD=dy) -> (X@GRAD=dx, Y@GRAD=dw)
      })",
                          Drawn("x", {3, 10}) + Drawn("w", {10, 4}) + Drawn("dy", {3, 4}), 1e-5,
                          {"y", "dx", "dw", "xs", "ws"}),
            "");
}

// A channel is an entry of all axes that were flattened to columns.
TEST(IntegerMul, FlattensItsColumns) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        integer_mul(X=x, Y=w, Scales=s, Bias=b, Operands=[c]) -> (Out=y) {
          epilogue=["add_channel"], epilogue_a=[0.0], epilogue_b=[0.0]}
      })",
                          "x i8[3,2] 127 -1 5 6 -7 100\nw i8[2,2,2] 1 -2 3 -4 5 -6 7 -8\n"
                          "s f32[4] 0.5 0.25 2 1\nb i32[4] 1 2 3 4\nc f32[4] 0.1 0.2 0.3 0.4\n",
                          0, {"y"}),
            "");
}

// Products of two activations, as in attention.
TEST(QuantizedProduct, OfManyMatricesIsAsIfOnNumbers) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=q) -> (Out=qd, OutScale=qs) {bit_length=8}
        fake_quantize_dequantize_abs_max(X=k) -> (Out=kd, OutScale=ks) {bit_length=8}
        matmul(X=qd, Y=kd) -> (Out=y) {transpose_Y=true, alpha=0.35}
        matmul_grad(X=qd, Y=kd, Out@GRAD=dy) -> (X@GRAD=dq, Y@GRAD=dk) {
          transpose_Y=true, alpha=0.35}
      })";
  const std::string inputs =
      Drawn("q", {2, 3, 5, 4}) + Drawn("k", {2, 3, 6, 4}) + Drawn("dy", {2, 3, 5, 6});
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-5, {"y", "dq", "dk"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::HasSubstr("matmul on integers"));
}

// Its gradient is that of the floats.
TEST(QuantizedAverage, IsAsIfOnNumbers) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        relu(X=x) -> (Out=r)
        fake_quantize_dequantize_abs_max(X=r) -> (Out=rd, OutScale=s) {bit_length=9}
        pool2d(X=rd) -> (Out=y) {pooling_type="avg", ksize=[3, 2], strides=[2, 1], paddings=[1, 1]}
        pool2d_grad(X=rd, Out=y, Out@GRAD=dy) -> (X@GRAD=dx) {
          pooling_type="avg", ksize=[3, 2], strides=[2, 1], paddings=[1, 1]}
      })";
  const std::string inputs = Drawn("x", {2, 3, 5, 4}) + Drawn("dy", {2, 3, 3, 5});
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-6, {"y", "dx"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::HasSubstr("pool2d on integers"));
}

// The image has a zero point in the middle of the codes and is padded, so that sums at the border
// have fewer terms. Its gradient is that of the floats.
TEST(AffineConvolution, IsAsIfOnNumbers) {
  for (const char* codes : {"unsigned_codes=true", "bit_length=8", "bit_length=4"}) {
    const std::string program = absl::StrCat(R"(program version=2006002
      block 0 {
        var s f32[1] persistable
        var z f32[1] persistable
        var n f32[1] persistable
        var low f32[1] persistable
        var high f32[1] persistable
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z, InState=n, InAccumMin=low, InAccumMax=high) -> (
          Out=q, OutScale=s, OutZeroPoint=z, OutState=n, OutAccumMin=low, OutAccumMax=high) {)",
                                             codes, R"(}
        fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=xd)
        fake_channel_wise_quantize_abs_max(X=w) -> (Out=wq, OutScale=ws) {quant_axis=0}
        fake_channel_wise_dequantize_max_abs(X=wq, Scales=ws) -> (Out=wd) {quant_bits=[8], quant_axis=0}
        conv2d(Input=xd, Filter=wd) -> (Output=y) {paddings=[1, 1]}
        conv2d_grad(Input=xd, Filter=wd, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {paddings=[1, 1]}
      })");
    const std::string inputs =
        Drawn("x", {2, 4, 5, 5}) + Drawn("w", {6, 4, 3, 3}) + Drawn("dy", {2, 6, 5, 5}) +
        "s f32[1] 1\nz f32[1] 0\nn f32[1] 1\nlow f32[1] -0.4\nhigh f32[1] 0.9\n";
    EXPECT_EQ(OpDifferences(program, inputs, 1e-5, {"y", "dx", "dw"}), "") << codes;
    EXPECT_THAT(PlanOf(program.c_str(), inputs, "y"), testing::HasSubstr("conv2d on integers"));
  }
}

// As a test program reads its step and its zero point, with a product, a residual and an average.
constexpr char kAffineOfTests[] = R"(program version=2006002
      block 0 {
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z) -> (
          Out=q, OutScale=s2, OutZeroPoint=z2) {is_test=true, unsigned_codes=true, round_type=0}
        fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=xd)
        dequantize_linear(X=w, Scale=ws, ZeroPoint=zero) -> (Y=wd) {quant_axis=1, bit_length=8}
        conv2d_transpose(Input=xd, Filter=wd) -> (Output=t) {paddings=[1, 1], strides=[2, 2]}
        pool2d(X=xd) -> (Out=a) {pooling_type="avg", ksize=[2, 2], paddings=[1, 1]}
        elementwise_add(X=r, Y=xd) -> (Out=sum)
      })";

TEST(AffineCodes, AreReadAsIfTheyWereNumbers) {
  const std::string inputs =
      Drawn("x", {2, 2, 3, 3}) + Drawn("r", {2, 2, 3, 3}) +
      "w i8[2,2,1,2] 127 -127 5 64 -1 3 99 -128\nws f32[2] 0.5 2\nzero f32[1] 0\n"
      "s f32[1] 0.01\nz f32[1] 101\n";
  EXPECT_EQ(OpDifferences(kAffineOfTests, inputs, 1e-5, {"t", "a", "sum"}), "");
  EXPECT_THAT(PlanOf(kAffineOfTests, inputs, "a"), testing::HasSubstr("pool2d on integers"));
}

// Both operands of a product have a zero point. The interpreter sums floats.
TEST(AffineCodes, AreMultipliedWithAffineWeights) {
  struct Product {
    const char* op;
    const char* x;  // dims
    const char* w;
  };
  const Product products[] = {
      {"conv2d(Input=xd, Filter=wd) -> (Output=y) {paddings=[1, 1]}", "2,4,5,5", "6,4,3,3"},
      {"conv2d(Input=xd, Filter=wd) -> (Output=y) {groups=2, strides=[2, 1]}", "2,4,6,5",
       "6,2,3,2"},
      {"depthwise_conv2d(Input=xd, Filter=wd) -> (Output=y) {groups=4, paddings=[1, 1]}", "2,4,9,9",
       "4,1,3,3"},
      {"conv2d_transpose(Input=xd, Filter=wd) -> (Output=y) {strides=[2, 2], groups=2}", "2,4,3,3",
       "4,3,2,2"},
      {"mul(X=xd, Y=wd) -> (Out=y)", "3,20", "20,6"},
      {"matmul(X=xd, Y=wd) -> (Out=y) {transpose_Y=true, alpha=0.5}", "2,3,20", "6,20"},
      {"matmul_v2(X=xd, Y=wd) -> (Out=y)", "2,3,4,20", "2,3,20,5"},
      {"fc(Input=xd, W=wd) -> (Out=y) {activation_type=\"relu\"}", "3,20", "20,6"},
  };
  for (const Product& product : products) {
    for (const char* codes : {"unsigned_codes=true", "unsigned_codes=false"}) {
      const std::string zero_point = codes == std::string("unsigned_codes=true") ? "150" : "-40";
      const std::string program = absl::StrCat(R"(program version=2006002
      block 0 {
        fake_quantize_moving_average_min_max(X=x, InScale=xs, InZeroPoint=xz) -> (
          Out=xq, OutScale=xs2, OutZeroPoint=xz2) {is_test=true, )",
                                               codes, R"(}
        fake_dequantize_affine(X=xq, Scale=xs, ZeroPoint=xz) -> (Out=xd)
        fake_quantize_moving_average_min_max(X=w, InScale=ws, InZeroPoint=wz) -> (
          Out=wq, OutScale=ws2, OutZeroPoint=wz2) {is_test=true, )",
                                               codes, R"(}
        fake_dequantize_affine(X=wq, Scale=ws, ZeroPoint=wz) -> (Out=wd)
        )",
                                               product.op, "\n      }");
      const auto dims = [](const char* text) {
        std::vector<int64_t> sizes;
        for (const absl::string_view size : absl::StrSplit(text, ',')) {
          sizes.push_back(0);
          EXPECT_TRUE(absl::SimpleAtoi(size, &sizes.back()));
        }
        return sizes;
      };
      const std::string inputs = Drawn("x", dims(product.x)) + Drawn("w", dims(product.w)) +
                                 "xs f32[1] 0.01\nws f32[1] 0.008\nxz f32[1] " + zero_point +
                                 "\nwz f32[1] " + zero_point + "\n";
      EXPECT_EQ(OpDifferences(program, inputs, 1e-5, {"y"}), "") << product.op << codes;
      EXPECT_THAT(PlanOf(program.c_str(), inputs, "y"), testing::HasSubstr("on integers"))
          << product.op;
    }
  }
}

// A value that is multiplied with itself, which has its zero point on both sides.
TEST(AffineCodes, AreMultipliedWithThemselves) {
  constexpr char kProgram[] = R"(program version=2006002
      block 0 {
        fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z) -> (
          Out=q, OutScale=s2, OutZeroPoint=z2) {is_test=true}
        fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=xd)
        matmul(X=xd, Y=xd) -> (Out=y) {transpose_Y=true}
        matmul_grad(X=xd, Y=xd, Out@GRAD=dy) -> (X@GRAD=dx) {transpose_Y=true}
      })";
  const std::string inputs =
      Drawn("x", {2, 3, 3}) + Drawn("dy", {2, 3, 3}) + "s f32[1] 0.01\nz f32[1] -50\n";
  EXPECT_EQ(OpDifferences(kProgram, inputs, 1e-5, {"y", "dx"}), "");
  EXPECT_THAT(PlanOf(kProgram, inputs, "y"), testing::HasSubstr("matmul on integers"));
}

// Codes of 9 to 16 bits, in either order of images.
TEST(WideConvolution, IsOfImagesAsTheyLie) {
  const std::string images = "x i16[2,3,4,3]" + Codes(72) + "w i16[2,3,3,2]" + Codes(36) +
                             "s f32[2] 0.001 0.5\n" + Drawn("f", {2, 3, 4, 3}) +
                             Drawn("g", {2, 3, 3, 2});
  for (const std::string form : {"NCHW", "NHWC"}) {
    const std::string attributes = "paddings=[1, 0], data_format=\"" + form + "\"}\n";
    const std::string lowered =
        "integer_quantize(X=f) -> (Out=q) {multiplier=9000.0, "
        "smallest_code=-32768, out_dtype=1, out_range=3.0, "
        "out_largest_code=32767}\n"
        "integer_dequantize(X=q) -> (Out=d) {range=3.0, "
        "largest_code=32767}\n"
        "integer_conv2d(Input=x, Filter=w, Scales=s) -> (Output=y) {" +
        attributes + "integer_conv2d(Input=q, Filter=w, Scales=s) -> (Output=z) {" + attributes;
    EXPECT_EQ(OpDifferences("program version=2006002\nblock 0 {\n" + lowered + "}", images, 0), "");
    const std::string simulated =
        "fake_quantize_dequantize_abs_max(X=f) -> (Out=fd, OutScale=fs) {bit_length=16}\n"
        "fake_channel_wise_quantize_dequantize_abs_max(X=g) -> (Out=gd, OutScale=gs) {"
        "bit_length=12, quant_axis=0}\n"
        "conv2d(Input=fd, Filter=gd) -> (Output=y) {" +
        attributes;
    const std::string program = "program version=2006002\nblock 0 {\n" + simulated + "}";
    EXPECT_EQ(OpDifferences(program, images, 1e-5), "") << form;
    EXPECT_THAT(PlanOf(program.c_str(), images, "y"),
                testing::HasSubstr("conv2d on wide integers"));
  }
}

// One value is read in the layouts of both slots.
TEST(QuantizedConvolution, OfAValueWithItself) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        fake_quantize_dequantize_abs_max(X=x) -> (Out=q, OutScale=s) {bit_length=8}
        conv2d(Input=q, Filter=q) -> (Output=y) {paddings=[1, 1]}
      })",
                          Drawn("x", {2, 2, 3, 3}), 1e-5, {"y"}),
            "");
}

// As the reference's convert_to_int8 leaves a program: the op after the product knows the range.
TEST(Products, ComputeWithTheNumbersOfCodesThatAreStoredAsIntegers) {
  const std::string images = Drawn("x", {2, 2, 3, 3}) + "w i8[2,2,2,2] 127 -127 5 0 64 -1 100 3 " +
                             "-128 1 2 -3 4 5 -6 7\n";
  for (const std::string type : {"conv2d", "conv2d_transpose"}) {
    EXPECT_EQ(OpDifferences("program version=2006002\nblock 0 {\n" + type +
                                "(Input=x, Filter=w) -> (Output=y)\n}",
                            images),
              "")
        << type;
  }
  const std::string matrices = Drawn("x", {2, 4}) + "w i8[4,2] 127 -127 5 0 64 -1 -128 3\n";
  for (const std::string op : {"mul(X=x, Y=w)", "matmul(X=x, Y=w)", "matmul_v2(X=x, Y=w)"}) {
    EXPECT_EQ(
        OpDifferences("program version=2006002\nblock 0 {\n" + op + " -> (Out=y)\n}", matrices), "")
        << op;
  }
  for (const std::string& stored : {matrices, Drawn("x", {2, 2}) + "w i16[2,2] 255 -256 300 1\n"}) {
    EXPECT_EQ(
        OpDifferences("program version=2006002\nblock 0 {\nfc(Input=x, W=w) -> (Out=y)\n}", stored),
        "");
  }
}

}  // namespace
}  // namespace fixpoint::executor
