// The ops between floats and codes that oneDNN runs in the reference, and those of paddle-mobile
// under the same names, worked by hand.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

std::string Of2(const std::string& op, const std::string& inputs) {
  return RunOps(absl::StrCat("program version=2006002\nblock 0 {\n", op, "\n}"), inputs);
}

constexpr char kTies[] = "x f32[7] 0.5 1.5 2.5 -1.5 300 -300 nan\n";

TEST(OneDnn, QuantizesToTheNearestEvenCode) {
  EXPECT_EQ(Of2("quantize(Input=x) -> (Output=y) {is_negative_input=true}", kTies),
            "y i8[7] 0 2 2 -2 127 -128 -128\n");
  EXPECT_EQ(Of2("quantize(Input=x) -> (Output=y)", kTies), "y u8[7] 0 2 2 0 255 0 0\n");
  EXPECT_EQ(Of2("quantize(Input=x) -> (Output=y) {is_negative_input=true, Scale=2.0}", kTies),
            "y i8[7] 1 3 5 -3 127 -128 -128\n");
}

// The shift, a whole number, is added before rounding, and makes the codes unsigned. Releases
// before 2.0 have none.
TEST(OneDnn, ShiftsBeforeRounding) {
  const std::string op = "quantize(Input=x) -> (Output=y) {is_negative_input=true, Shift=3.5}";
  EXPECT_EQ(Of2(op, kTies), "y u8[7] 4 4 6 2 255 0 0\n");
  EXPECT_EQ(RunOps(absl::StrCat("program version=1008005\nblock 0 {\n", op, "\n}"), kTies),
            "y i8[7] 0 2 2 -2 127 -128 -128\n");
}

TEST(OneDnn, Dequantizes) {
  EXPECT_EQ(Of2("dequantize(Input=x) -> (Output=y) {Scale=2.0}", "x i8[3] 1 -3 127\n"),
            "y f32[3] 0.5 -1.5 63.5\n");
  EXPECT_EQ(Of2("dequantize(Input=x) -> (Output=y) {Scale=2.0, Shift=3.0}", "x u8[3] 1 3 255\n"),
            "y f32[3] -1 0 126\n");
}

TEST(OneDnn, Requantizes) {
  const std::string op = "requantize(Input=x) -> (Output=y) {Scale_in=2.0, Scale_out=3.0";
  EXPECT_EQ(Of2(op + ", Shift_in=0.0, Shift_out=0.0}", "x i8[4] 1 -3 127 -128\n"),
            "y i8[4] 2 -4 127 -128\n");
  EXPECT_EQ(Of2(op + ", Shift_in=0.0, Shift_out=5.0}", "x i8[4] 1 -3 127 -128\n"),
            "y u8[4] 6 0 196 0\n");
  EXPECT_EQ(Of2(op + ", Shift_in=4.0, Shift_out=100.0}", "x u8[4] 1 3 127 255\n"),
            "y u8[4] 96 98 255 255\n");
  // Shifts of 1 are the default of 2.x.
  EXPECT_EQ(Of2(op + "}", "x u8[4] 1 3 127 255\n"), "y u8[4] 2 4 190 255\n");
  EXPECT_EQ(Of2(op + "}", "x i8[1] 1\n"),
            "block 0, op 0 (requantize): Shift_in is 1 and Input is i8; want 0, or u8");
}

TEST(OneDnn, RefusesWhatHasNoCodes) {
  EXPECT_EQ(Of2("quantize(Input=x) -> (Output=y) {Scale=0.0}", "x f32[1] 1\n"),
            "block 0, op 0 (quantize): Scale is 0; want a finite number other than 0");
  EXPECT_EQ(Of2("quantize(Input=x) -> (Output=y) {Shift=256.0}", "x f32[1] 1\n"),
            "block 0, op 0 (quantize): Shift is 256; want 0 to 255");
  EXPECT_EQ(Of2("quantize(InScale=x) -> (Output=y)", "x f32[1] 1\n"),
            "block 0, op 0 (quantize): there is neither X nor Input; want one of them");
  EXPECT_EQ(Of2("dequantize(Input=x) -> (Output=y)", "x f32[1] 1\n"),
            "block 0, op 0 (dequantize): Input is f32; want i8 or u8");
}

std::string ConvolutionOf(const std::string& inputs, const std::string& attributes,
                          const std::string& filter = "f32[2,1,1,1] 0.5 -0.25") {
  return RunOps(absl::StrCat("program version=1008005\nblock 0 {\nconv2d(Input=x, Filter=w", inputs,
                             ") -> (Output=y) {Scale_in=16.0, Scale_weights=[64.0, 128.0]",
                             attributes, "}\n}"),
                absl::StrCat("x i8[1,1,1,2] 10 -20\nb f32[2] 0.25 0\nr i8[1,2,1,2] 1 1 1 -1\nw ",
                             filter, "\n"));
}

// The codes of the filter are 32 and -32, that of the bias is 256; sums are 576, -384, -320 and
// 640.
TEST(OneDnn, ConvolvesCodes) {
  EXPECT_EQ(ConvolutionOf(", Bias=b", ", force_fp32_output=true"),
            "y f32[1,2,1,2] 0.5625 -0.375 -0.15625 0.3125\n");
  EXPECT_EQ(ConvolutionOf(", Bias=b", ", Scale_out=8.0"), "y i8[1,2,1,2] 4 -3 -1 2\n");
  EXPECT_EQ(ConvolutionOf(", Bias=b", ", Scale_out=8.0", "i8[2,1,1,1] 32 -32"),
            "y i8[1,2,1,2] 4 -3 -1 2\n");
  EXPECT_EQ(ConvolutionOf(", Bias=b", ", Scale_out=8.0, fuse_activation=\"relu\""),
            "y u8[1,2,1,2] 4 0 0 2\n");
  EXPECT_EQ(ConvolutionOf(", Bias=b, ResidualData=r",
                          ", Scale_out=8.0, Scale_in_eltwise=4.0, fuse_residual_connection=true"),
            "y i8[1,2,1,2] 6 -1 1 0\n");
  EXPECT_EQ(ConvolutionOf("", ", Scale_out=8000.0"), "y i8[1,2,1,2] 127 -128 -128 127\n");
}

// A filter of zeros has the scale 0, and its sums are those of the bias alone, whose code is 0 too.
TEST(OneDnn, ConvolvesWithFiltersOfZeros) {
  EXPECT_EQ(RunOps(R"(program version=1008005
      block 0 {
        conv2d(Input=x, Filter=w, Bias=b) -> (Output=y) {Scale_weights=[0.0], force_fp32_output=true}
      })",
                   "x u8[1,1,1,2] 10 255\nw f32[1,1,1,1] 0\nb f32[1] 3\n"),
            "y f32[1,1,1,2] 0 0\n");
}

TEST(OneDnn, RefusesToConvolveWithoutScales) {
  EXPECT_EQ(ConvolutionOf("", ", Scale_out=0.0"),
            "block 0, op 0 (conv2d): Scale_out is 0; want a finite number other than 0");
  EXPECT_EQ(
      ConvolutionOf("", "", "f32[3,1,1,1] 1 2 3"),
      "block 0, op 0 (conv2d): Scale_weights has 2 values; want 1, or 3, one for each filter");
  EXPECT_EQ(ConvolutionOf("", ", fuse_activation=\"swish\""),
            "block 0, op 0 (conv2d): Input is codes, and fuse_activation neither relu, relu6 nor "
            "leaky_relu; want one of them, or the activation as an op");
}

// A product of codes by an INT8 weight: 127 * 6 - 64 * 4 = 506 of steps 2/127 * 5/127.
TEST(PaddleMobile, ComputesOnItsCodes) {
  EXPECT_EQ(RunOps(R"(program version=1008005
      block 0 {
        quantize(X=x) -> (Out=q, OutScale=s) {bit_length=8}
        mul(X=q, Y=w) -> (Out=p)
        dequantize(X=p, Scale=s) -> (Out=y) {max_range=3225.8}
      })",
                   "x f32[1,2] 2 -1\nw i8[2,1] 6 4\n"),
            "p f32[1,1] 506\nq f32[1,2] 127 -64\ns f32[1] 2\ny f32[1,1] 0.313720614\n");
}

TEST(PaddleMobile, TakesTheRangeOfTraining) {
  EXPECT_EQ(
      RunOps("quantize(X=x, InScale=r) -> (Out=q, OutScale=s)", "x f32[2] 2 -1\nr f32[1] 1\n"),
      "q f32[2] 127 -127\ns f32[1] 1\n");
  EXPECT_EQ(
      RunOps("quantize(X=x, InScale=r) -> (Out=q) {is_test=false}", "x f32[2] 2 -1\nr f32[1] 1\n"),
      "block 0, op 0 (quantize): is_test is false; want a program for inference");
}

TEST(PaddleMobile, DequantizesByChannels) {
  EXPECT_EQ(RunOps("dequantize(X=x, Scales=[c, s]) -> (Out=y) {quant_bits=[8, 8]}",
                   "x f32[1,2] 16129 -32258\nc f32[2] 1 2\ns f32[1] 0.5\n"),
            "y f32[1,2] 0.5 -2\n");
  EXPECT_EQ(RunOps("dequantize(X=x) -> (Out=y) {max_range=127.0}", "x f32[1] 1\n"),
            "block 0, op 0 (dequantize): X has no scale; want Scale or Scales");
}

}  // namespace
}  // namespace fixpoint::reference
