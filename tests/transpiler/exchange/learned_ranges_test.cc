#include "transpiler/exchange/learned_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/quantizer_table.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

// A weight whose values and range a formula computes, and an activation whose range is computed
// from a trained exponent.
constexpr char kFormulas[] = R"(block 0 {
  var x f32[-1,2]
  var w f32[2,2] persistable is_parameter
  var w.size f32[2,2]
  var w.range f32[1]
  var w.value f32[2,2]
  var w.again f32[2,2]
  var h f32[-1,2]
  var h.exponent f32[1] persistable
  var h.range f32[1]
  var h.again f32[-1,2]
  var y f32[-1,2]
  abs(X=w) -> (Out=w.size) {fixpoint.inserted_by="insert_quantizers"}
  reduce_max(X=w.size) -> (Out=w.range) {reduce_all=true, fixpoint.inserted_by="insert_quantizers"}
  tanh(X=w) -> (Out=w.value) {fixpoint.inserted_by="insert_quantizers"}
  fake_quantize_dequantize_at_range(X=w.value, InScale=w.range) -> (Out=w.again) {bit_length=4, fixpoint.inserted_by="insert_quantizers", fixpoint.quantizer="mine"}
  relu(X=x) -> (Out=h)
  exp(X=h.exponent) -> (Out=h.range) {fixpoint.inserted_by="insert_quantizers"}
  fake_quantize_dequantize_at_range(X=h, InScale=h.range) -> (Out=h.again) {bit_length=5, round_type=0, fixpoint.inserted_by="insert_quantizers"}
  mul(X=h.again, Y=w.again) -> (Out=y)
}
)";

TEST(LearnedRanges, ThoseOfFormulasAreComputedAsFreezingDoes) {
  const Program program = ParsedProgram(kFormulas);
  const auto scope = ParseParameters("w f32[2,2] 1 -4 2 0\nh.exponent f32[1] 0\n", "parameters");
  ASSERT_TRUE(scope.ok()) << scope.status();
  const auto ranges = FindLearnedRanges(program, *scope, QuantizerTable());
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->size(), 2);
  const LearnedRange& weight = (*ranges)[0];
  EXPECT_EQ(weight.variable(), "w");
  EXPECT_TRUE(weight.is_weight);
  EXPECT_EQ(weight.quantizer, "mine");
  EXPECT_THAT(weight.scales, ElementsAre(4));
  EXPECT_EQ(weight.Min(0), -4);
  const LearnedRange& activation = (*ranges)[1];
  EXPECT_EQ(activation.variable(), "h");
  EXPECT_FALSE(activation.is_weight);
  EXPECT_THAT(activation.scales, ElementsAre(1));
  EXPECT_EQ(activation.codes.smallest, 0);  // of a relu
  EXPECT_EQ(activation.codes.largest, 15);
  EXPECT_EQ(activation.Min(0), 0);
}

// Its range is that of the values that the formula computes: tanh(1) at most.
TEST(LearnedRanges, ThatADynamicQuantizerFindsInAFormulaIsFoundAsFreezingDoes) {
  const Program program = ParsedProgram(R"(block 0 {
  var x f32[-1,2]
  var w f32[2,2] persistable is_parameter
  var w.value f32[2,2]
  var w.scale f32[1]
  var w.again f32[2,2]
  var y f32[-1,2]
  tanh(X=w) -> (Out=w.value) {fixpoint.inserted_by="insert_quantizers"}
  fake_quantize_dequantize_abs_max(X=w.value) -> (Out=w.again, OutScale=w.scale) {bit_length=4, fixpoint.inserted_by="insert_quantizers"}
  mul(X=x, Y=w.again) -> (Out=y)
}
)");
  const auto scope = ParseParameters("w f32[2,2] 0.5 -1 0 0.25\n", "parameters");
  ASSERT_TRUE(scope.ok()) << scope.status();
  const auto ranges = FindLearnedRanges(program, *scope, QuantizerTable());
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->size(), 1);
  EXPECT_EQ((*ranges)[0].variable(), "w");
  EXPECT_TRUE((*ranges)[0].is_weight);
  EXPECT_THAT((*ranges)[0].scales, ElementsAre(FloatNear(0.761594f, 1e-6f)));
}

// A state with a number for each element, which a formula reads before the weight, or after it. The
// program declares no parameters, as releases before 2.0 do not, and says which variable the
// product read.
TEST(LearnedRanges, NameTheWeightAndNotAStateOfItsShape) {
  for (const char* formula : {"  elementwise_mul(X=a.fixed, Y=w) -> (Out=w.value) "
                              "{fixpoint.inserted_by=\"insert_quantizers\"}\n",
                              "  elementwise_mul(X=w, Y=a.fixed) -> (Out=w.value) "
                              "{fixpoint.inserted_by=\"insert_quantizers\"}\n"}) {
    const Program program = ParsedProgram(absl::StrCat(R"(block 0 {
  var x f32[-1,2]
  var w f32[2,2] persistable
  var a.fixed f32[2,2] persistable
  var w.value f32[2,2]
  var w.range f32[1] persistable
  var w.again f32[2,2]
  var y f32[-1,2]
)",
                                                       formula, R"(
  fake_quantize_dequantize_at_range(X=w.value, InScale=w.range) -> (Out=w.again) {bit_length=4, fixpoint.inserted_by="insert_quantizers"}
  mul(X=x, Y=w.again) -> (Out=y) {fixpoint.rewired=["Y.0=w"]}
}
)"));
    const auto scope = ParseParameters(
        "w f32[2,2] 1 -4 2 0\na.fixed f32[2,2] 1 1 0 0\nw.range f32[1] 4\n", "parameters");
    ASSERT_TRUE(scope.ok()) << scope.status();
    const auto ranges = FindLearnedRanges(program, *scope, QuantizerTable());
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    ASSERT_EQ(ranges->size(), 1);
    EXPECT_EQ((*ranges)[0].variable(), "w");
    EXPECT_TRUE((*ranges)[0].is_weight);
  }
}

// Codes of 4 bits that are rounded to even go from -8 to 7, and the range is that of 7.
TEST(LearnedRanges, TheSmallestNumberIsThatOfTheSmallestCode) {
  for (const bool is_to_even : {true, false}) {
    const Program program = ParsedProgram(absl::StrCat(R"(block 0 {
  var x f32[-1,2]
  var w f32[2,2] persistable
  var w.range f32[1] persistable
  var w.again f32[2,2]
  var y f32[-1,2]
  fake_quantize_dequantize_at_range(X=w, InScale=w.range) -> (Out=w.again) {bit_length=4, round_type=)",
                                                       is_to_even ? 0 : 1, R"(}
  mul(X=x, Y=w.again) -> (Out=y)
}
)"));
    const auto scope = ParseParameters("w f32[2,2] 1 -4 2 0\nw.range f32[1] 0.7\n", "parameters");
    ASSERT_TRUE(scope.ok()) << scope.status();
    const auto ranges = FindLearnedRanges(program, *scope, QuantizerTable());
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    ASSERT_EQ(ranges->size(), 1);
    const LearnedRange& range = ranges->front();
    EXPECT_EQ(range.codes.smallest, is_to_even ? -8 : -7);
    EXPECT_EQ(range.Smallest(0), is_to_even ? -0.8f : -0.7f);
    EXPECT_EQ(range.Min(0), -0.7f);
    EXPECT_EQ(range.Max(0), 0.7f);
  }
}

TEST(LearnedRanges, OneThatARunComputesIsNone) {
  const Program program =
      ParsedProgram(absl::StrReplaceAll(kFormulas, {{"exp(X=h.exponent)", "reduce_max(X=h)"}}));
  const auto scope = ParseParameters("w f32[2,2] 1 -4 2 0\n", "parameters");
  ASSERT_TRUE(scope.ok()) << scope.status();
  const absl::Status status = FindLearnedRanges(program, *scope, QuantizerTable()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("the scale \"h.range\" is computed when the program runs"));
}

// Sums are of the layer, whatever a multiplier and a shift make of them before they are quantized.
constexpr char kRequantized[] = R"(block 0 {
  var x f32[-1,2]
  var x@scale f32[1] persistable
  var x.again f32[-1,2]
  var w f32[2,3] persistable is_parameter
  var w@scale f32[1] persistable
  var w.again f32[2,3]
  var h f32[-1,3]
  var h@scale f32[1] persistable
  var h.observed f32[-1,3]
  var h.requantized f32[-1,3]
  var h.again f32[-1,3]
  var y f32[-1,3]
  fake_quantize_dequantize_moving_average_abs_max(X=x, InScale=x@scale) -> (Out=x.again, OutScale=x@scale) {bit_length=8, is_test=true, fixpoint.inserted_by="insert_quantizers"}
  fake_quantize_dequantize_abs_max(X=w) -> (Out=w.again, OutScale=w@scale) {bit_length=8, fixpoint.inserted_by="insert_quantizers"}
  mul(X=x.again, Y=w.again) -> (Out=h)
  moving_average_abs_max_scale(X=h, InScale=h@scale) -> (Out=h.observed, OutScale=h@scale) {is_test=true, fixpoint.inserted_by="insert_quantizers"}
  fake_requantize(X=h, InputScale=x@scale, WeightScale=w@scale, OutputScale=h@scale) -> (Out=h.requantized) {input_largest_code=127, weight_largest_code=127, output_largest_code=127, channel_axis=1, fixpoint.inserted_by="insert_quantizers"}
  fake_quantize_dequantize_moving_average_abs_max(X=h.requantized, InScale=h@scale) -> (Out=h.again, OutScale=h@scale) {bit_length=8, is_test=true, fixpoint.inserted_by="insert_quantizers"}
  relu(X=h.again) -> (Out=y)
}
)";

TEST(LearnedRanges, NameTheSumsThatAreRequantized) {
  const Program program = ParsedProgram(kRequantized);
  const auto scope = ParseParameters(
      "w f32[2,3] 1 -4 2 0 1 1\nx@scale f32[1] 2\nw@scale f32[1] 4\nh@scale f32[1] 3\n",
      "parameters");
  ASSERT_TRUE(scope.ok()) << scope.status();
  const auto ranges = FindLearnedRanges(program, *scope, QuantizerTable());
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  std::vector<std::string> variables;
  for (const LearnedRange& range : *ranges) {
    variables.push_back(range.variable());
    EXPECT_FALSE(range.is_observed) << range.variable();
  }
  EXPECT_THAT(variables, ElementsAre("x", "w", "h"));
  EXPECT_THAT(ranges->back().scales, ElementsAre(3));
  EXPECT_FALSE(ranges->back().is_weight);
}

}  // namespace
}  // namespace fixpoint
