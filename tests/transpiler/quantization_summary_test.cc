#include "transpiler/report/quantization_summary.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

std::string Summary(const Program& program) {
  const QuantizationSummary summary = SummarizeQuantization(program);
  std::string text = absl::StrCat(summary.writer, "\n");
  for (const QuantizationSummary::Count& count : summary.counts) {
    absl::StrAppend(&text, count.op_type, ": ", count.bits, " bits, ", count.weights,
                    " of weights, ", count.activations, " of activations\n");
  }
  return text;
}

constexpr char kFloat[] = R"(
  var x f32[-1,4]
  var w f32[4,4] persistable
  var y f32[-1,4]
  mul(X=x, Y=w) -> (Out=y)
)";

TEST(QuantizationSummary, OfAFloatProgramIsEmpty) {
  EXPECT_EQ(Summary(ParsedProgram(kFloat)), "\n");
}

TEST(QuantizationSummary, OfOursNamesTheTarget) {
  Program program = ParsedProgram(kFloat);
  TranspileOptions options;
  options.config.set_target("paddle_1_8");
  options.config.mutable_weights()->set_bits(4);
  ASSERT_TRUE(Transpile(&program, options).ok());
  EXPECT_EQ(Summary(program),
            "Fixpoint, target paddle_1_8\n"
            "fake_quantize_abs_max: 8 bits, 0 of weights, 1 of activations\n"
            "fake_quantize_abs_max: 4 bits, 1 of weights, 0 of activations\n");
}

TEST(QuantizationSummary, MarksAreEnoughToKnowOurs) {
  EXPECT_EQ(Summary(ParsedProgram(R"(relu(X=x) -> (Out=y) {fixpoint.rewired=["X.0=z"]})")),
            "Fixpoint\n");
}

TEST(QuantizationSummary, QuantizeTranspilerIsKnownByItsNames) {
  EXPECT_EQ(Summary(ParsedProgram(R"(
    var x f32[-1,4]
    fake_quantize_abs_max(X=x) -> (Out=x.quantized, OutScale=x.scale)
    fake_dequantize_max_abs(X=x.quantized, Scale=x.scale) -> (Out=x.quantized.dequantized) {max_range=127.0}
    mul(X=x.quantized.dequantized, Y=w) -> (Out=y)
  )")),
            "PaddlePaddle's QuantizeTranspiler\n"
            "fake_quantize_abs_max: 8 bits, 0 of weights, 1 of activations\n");
}

TEST(QuantizationSummary, StaticGraphPassesAreKnownByTheirAttribute) {
  EXPECT_EQ(Summary(ParsedProgram(R"(
    fake_quantize_abs_max(X=x) -> (Out=x.quantized, OutScale=x.scale) {bit_length=7}
    fake_dequantize_max_abs(X=x.quantized, Scale=x.scale) -> (Out=x.quantized.dequantized) {max_range=63.0}
    mul(X=x.quantized.dequantized, Y=w) -> (Out=y) {quantization_type="qat_with_weight"}
  )")),
            "PaddlePaddle's static graph passes\n"
            "fake_quantize_abs_max: 7 bits, 0 of weights, 1 of activations\n");
}

TEST(QuantizationSummary, DygraphLayersFuseUnderTheSameNames) {
  EXPECT_EQ(Summary(ParsedProgram(R"(
    var w f32[4,4] persistable
    fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=w.quantized.dequantized, OutScale=s)
    mul(X=x, Y=w.quantized.dequantized) -> (Out=y)
  )")),
            "PaddlePaddle's dygraph layers\n"
            "fake_channel_wise_quantize_dequantize_abs_max: 8 bits, 1 of weights, 0 of "
            "activations\n");
}

TEST(QuantizationSummary, StoredCodesCountByTheirDequantizer) {
  EXPECT_EQ(Summary(ParsedProgram(R"(
    var w i8[4,4] persistable
    var s f32[1] persistable
    var z i32[1] persistable
    dequantize_linear(X=w, Scale=s, ZeroPoint=z) -> (Y=w.real) {bit_length=8, quant_axis=-1}
    mul(X=x, Y=w.real) -> (Out=y)
  )")),
            "another tool\n"
            "dequantize_linear: 8 bits, 1 of weights, 0 of activations\n");
}

}  // namespace
}  // namespace fixpoint
