#include "transpiler/plan/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "transpiler/plan/accumulator_width.h"

namespace fixpoint {
namespace {

constexpr char kGood[] = R"(name: "t"
conventions { era: PADDLE_2 scale_suffix: "@scale" }
weights { quantizer: "abs_max" bits: 8 signedness: SIGNED rounding: HALF_TO_EVEN form: SEPARATE }
activations { quantizer: "abs_max" bits: 8 signedness: SIGNED rounding: HALF_TO_EVEN form: FUSED }
ops { types: "mul" inputs { name: "X" role: ACTIVATION } }
)";

std::string ErrorOf(const std::string& text) {
  return std::string(ParseTarget(text, "t.textproto", QuantizerTable()).status().message());
}

TEST(Target, BuiltInOnesAreWellFormed) {
  EXPECT_THAT(BuiltInTargets(), testing::IsSupersetOf({"onednn_int8", "paddle_1_8", "paddle_2_6"}));
  for (const std::string& name : BuiltInTargets()) {
    const auto target = BuiltInTarget(name);
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(target->name(), name);
    EXPECT_FALSE(target->doc().empty()) << name;
  }
}

TEST(Target, ThatIsNotThereIsAnErrorThatNamesThoseThatAre) {
  EXPECT_EQ(std::string(LoadTarget("paddle", QuantizerTable()).status().message()),
            absl::StrCat("there is no target \"paddle\"; there are ",
                         absl::StrJoin(BuiltInTargets(), ", ")));
}

TEST(Target, AGoodOneIsRead) { EXPECT_EQ(ErrorOf(kGood), ""); }

struct BadTarget {
  const char* name;
  const char* what;  // in kGood
  const char* becomes;
  const char* message;
  const char* before = "";  // what else stands in front of kGood
};

class TargetTest : public testing::TestWithParam<BadTarget> {};

TEST_P(TargetTest, SaysWhatIsWrong) {
  const std::string text = absl::StrCat(
      GetParam().before, absl::StrReplaceAll(kGood, {{GetParam().what, GetParam().becomes}}));
  ASSERT_NE(text, kGood);
  EXPECT_EQ(ErrorOf(text), GetParam().message);
}

constexpr BadTarget kBadTargets[] = {
    {"NoName", "name: \"t\"", "", "t.textproto: name is missing"},
    {"NoEra", "era: PADDLE_2", "", "t.textproto: conventions.era is missing"},
    {"NoScaleSuffix", "scale_suffix: \"@scale\"", "",
     "t.textproto: conventions.scale_suffix is missing"},
    {"NoForm", "form: FUSED", "", "t.textproto: activations.form is missing"},
    {"UnknownQuantizer", "weights { quantizer: \"abs_max\"", "weights { quantizer: \"abs_mx\"",
     "t.textproto: weights: there is no quantizer \"abs_mx\"; did you mean abs_max?"},
    {"NoOps", "ops { types: \"mul\" inputs { name: \"X\" role: ACTIVATION } }", "",
     "t.textproto: ops is empty: the target computes nothing on integers"},
    {"OpWithoutTypes", "types: \"mul\"", "", "t.textproto: ops[0].types is empty"},
    {"OpWithoutInputs", "inputs { name: \"X\" role: ACTIVATION }", "",
     "t.textproto: ops[0].inputs is empty"},
    {"UnknownOpType", "types: \"mul\"", "types: \"matmull\"",
     "t.textproto: ops[0]: there is no op type \"matmull\"; did you mean matmul?"},
    {"OpThatIsNeverQuantized", "types: \"mul\"", "types: \"softmax\"",
     "t.textproto: ops[0]: softmax has no input that can be quantized"},
    {"UnknownSlot", "name: \"X\"", "name: \"Z\"",
     "t.textproto: ops[0]: mul has no input Z that can be quantized; it has X, Y"},
    {"SlotTwice", "role: ACTIVATION }", "role: ACTIVATION } inputs { name: \"X\" role: WEIGHT }",
     "t.textproto: ops[0]: slot X is there twice"},
    {"NoBitsAtAll", "name: \"t\"", "name: \"t\" weight_abilities { min_bits: 12 max_bits: 4 }",
     "t.textproto: abilities: min_bits 12 is above max_bits 4"},
    {"SlotWithoutRole", "role: ACTIVATION", "", "t.textproto: ops[0]: slot X has no role"},
    {"ContradictoryWeights", "types: \"mul\"", "types: \"mul\" needs_weight: true no_weight: true",
     "t.textproto: ops[0]: needs_weight and no_weight exclude each other"},
    {"ResidualOfAProduct", "role: ACTIVATION", "role: RESIDUAL",
     "t.textproto: ops[0]: RESIDUAL is for X and Y of elementwise_add, both, with no_weight and "
     "without shared_scale"},
    {"ResidualBesideAnActivation", "types: \"mul\" inputs { name: \"X\" role: ACTIVATION }",
     "types: \"elementwise_add\" no_weight: true inputs { name: \"X\" role: ACTIVATION } "
     "inputs { name: \"Y\" role: RESIDUAL }",
     "t.textproto: ops[0]: RESIDUAL is for X and Y of elementwise_add, both, with no_weight and "
     "without shared_scale"},
    {"ConditionOfNothing", "types: \"mul\"", "types: \"mul\" when { attr: \"a\" }",
     "t.textproto: ops[0].when: a condition has an attr and one of equals and is"},
    {"ConditionOnAnUnknownAttribute", "types: \"mul\" inputs { name: \"X\" role: ACTIVATION }",
     "types: \"pool2d\" when { attr: \"pool_type\" equals: \"avg\" } "
     "inputs { name: \"X\" role: ACTIVATION }",
     "t.textproto: ops[0].when: pool2d has no attribute pool_type; did you mean pooling_type?"},
    {"ConditionOnNoAttributeOfTheOp", "types: \"mul\"",
     "types: \"mul\" when { attr: \"groups\" is: true }",
     "t.textproto: ops[0].when: mul has no attribute groups; there are force_fp32_output, "
     "scale_out, scale_x, scale_y, use_mkldnn, x_num_col_dims, y_num_col_dims"},
    {"ConditionOfAnotherType", "types: \"mul\"",
     "types: \"mul\" when { attr: \"x_num_col_dims\" equals: \"1\" }",
     "t.textproto: ops[0].when: attribute x_num_col_dims of mul is of type int; want string for "
     "equals"},
    {"OutputsThatAreOnlyObserved", "name: \"t\"",
     "name: \"t\" outputs { types: \"mul\" always: true }",
     "t.textproto: outputs[0]: always is true, and quantize is not; want both, or neither"},
    {"UnknownComposite", "name: \"t\"", "name: \"t\" composites: \"layer_nrm\"",
     "t.textproto: composites: \"layer_nrm\" has no components; want some of fc, gelu, group_norm, "
     "gru, gru_unit, layer_norm, lstm, lstm_unit, rnn, scaled_dot_product_attention, silu, "
     "softmax, swish"},
    {"CompositeThatIsNotExpanded", "name: \"t\"", "name: \"t\" composites: \"lstmp\"",
     "t.textproto: composites: \"lstmp\" has no components; want some of fc, gelu, group_norm, "
     "gru, gru_unit, layer_norm, lstm, lstm_unit, rnn, scaled_dot_product_attention, silu, "
     "softmax, swish"},
    {"CompositeTwice", "name: \"t\"", "name: \"t\" composites: \"rnn\" composites: \"rnn\"",
     "t.textproto: composites: rnn is there twice"},
    {"AccumulatorTooNarrowForAnything", "name: \"t\"", "name: \"t\" accumulator_bits: 8",
     "t.textproto: accumulator_bits is 8; want 16 to 64"},
    {"AccumulatorWiderThanAnything", "name: \"t\"", "name: \"t\" accumulator_bits: 80",
     "t.textproto: accumulator_bits is 80; want 16 to 64"},
    {"NarrowAccumulatorWithAnIntegerBias", "name: \"t\"",
     "name: \"t\" accumulator_bits: 24 bias: INT32",
     "t.textproto: bias is INT32, and accumulator_bits 24; want 32 or more, or a FLOAT bias"},
    {"NarrowAccumulatorWithABiasOf16Bits", "name: \"t\"",
     "name: \"t\" accumulator_bits: 24 bias: INT16",
     "t.textproto: bias is INT16, and accumulator_bits 24; want 32 or more, or a FLOAT bias"},
    {"StepsThatTheReferenceDoesNotMake", "name: \"t\"",
     "name: \"t\" weight_abilities { power_of_two_steps: true reference_ops_only: true }",
     "t.textproto: weights: all steps are powers of two, which the reference's ops do not make; "
     "want no reference_ops_only"},
    {"ShiftsOfAnyScale", "name: \"t\"",
     "name: \"t\" bias: INT32 requantization: SHIFT activation_abilities { roundings: HALF_TO_EVEN "
     "}",
     "t.textproto: requantization is SHIFT; want power_of_two_steps among the abilities of weights "
     "and of activations"},
    {"ShiftsOfAnyRounding", "name: \"t\"",
     "name: \"t\" bias: INT32 requantization: SHIFT weight_abilities { power_of_two_steps: true } "
     "activation_abilities { power_of_two_steps: true }",
     "t.textproto: requantization is SHIFT; want HALF_TO_EVEN alone among the roundings of "
     "activations"},
    {"ShiftsBeforeAFloatBias", "name: \"t\"",
     "name: \"t\" requantization: SHIFT weight_abilities { power_of_two_steps: true } "
     "activation_abilities { power_of_two_steps: true roundings: HALF_TO_EVEN }",
     "t.textproto: requantization is SHIFT; want an INT32 or INT16 bias, which is added before the "
     "shift"},
    {"MultipliersOfAnotherRequantization", "name: \"t\"", "name: \"t\" requantization_roundings: 2",
     "t.textproto: requantization_multiplier_bits and requantization_roundings are of "
     "MULTIPLIER_AND_SHIFT; want that requantization, or none of them"},
    {"MultiplierOf8Bits", "name: \"t\"",
     "name: \"t\" bias: INT32 requantization: MULTIPLIER_AND_SHIFT "
     "requantization_multiplier_bits: 8",
     "t.textproto: requantization_multiplier_bits is 8; want 16 or 32"},
    {"ThreeRoundings", "name: \"t\"",
     "name: \"t\" bias: INT32 requantization: MULTIPLIER_AND_SHIFT requantization_roundings: 3",
     "t.textproto: requantization_roundings is 3; want 1 or 2"},
    {"NarrowMultiplierRoundedTwice", "name: \"t\"",
     "name: \"t\" bias: INT32 requantization: MULTIPLIER_AND_SHIFT "
     "requantization_multiplier_bits: 16 requantization_roundings: 2",
     "t.textproto: requantization_roundings is 2; want 1 for a multiplier of 16 bits"},
    {"MultiplierBeforeAFloatBias", "name: \"t\"",
     "name: \"t\" requantization: MULTIPLIER_AND_SHIFT",
     "t.textproto: requantization is MULTIPLIER_AND_SHIFT; want an INT32 bias, which is added "
     "before it"},
    {"MultiplierThatTheReferenceDoesNotHave", "name: \"t\"",
     "name: \"t\" bias: INT32 requantization: MULTIPLIER_AND_SHIFT "
     "activation_abilities { reference_ops_only: true }",
     "t.textproto: bias is INT32, for which the reference has no op; want no reference_ops_only\n"
     "t.textproto: requantization is MULTIPLIER_AND_SHIFT, for which the reference has no op; want "
     "no reference_ops_only"},
    {"AccumulatorThatHoldsNoProduct", "abs_max\" bits: 8", "abs_max\" bits: 12",
     "t.textproto: accumulator_bits is 16, which does not hold one product of 12 and 12 bits",
     "accumulator_bits: 16 "},
    {"QuantizerWithoutSuchSteps", "weights { quantizer: \"abs_max\"",
     "weight_abilities { power_of_two_steps: true } weights { quantizer: \"row_wise_min_max\"",
     "t.textproto: weights: all steps are powers of two, which quantizer row_wise_min_max does not "
     "make; want one of abs_max, channel_wise_abs_max, window_mean_abs_max, "
     "moving_average_abs_max, "
     "fixed_abs_max, tqt"},
    {"SeveralMistakes", "name: \"t\"\nconventions { era: PADDLE_2 scale_suffix: \"@scale\" }", "",
     "t.textproto: name is missing\n"
     "t.textproto: conventions.era is missing\n"
     "t.textproto: conventions.scale_suffix is missing"},
};

std::string AbilitiesError(const std::string& abilities, int bits,
                           const std::string& name = "abs_max") {
  const QuantizerTable quantizers;
  const Quantizer& quantizer = *quantizers.Find(name);
  const auto target =
      ParseTarget(absl::StrCat(kGood, "weight_abilities { ", abilities, " }"), "t", quantizers);
  EXPECT_TRUE(target.ok()) << target.status();
  QuantSpec spec = target->weights();
  spec.set_quantizer(name);
  spec.set_form(quantizer.recipes().front().form);
  spec.set_granularity(quantizer.granularity());
  spec.set_scheme(quantizer.scheme());
  spec.set_bits(bits);
  return std::string(CheckAbilities(*target, SlotRole::WEIGHT, quantizer, spec).message());
}

TEST(Target, SaysWhichBitsItDoes) {
  EXPECT_EQ(AbilitiesError("max_bits: 7", 8), "target t: bits 8; it does at most 7");
  EXPECT_EQ(AbilitiesError("min_bits: 4", 3), "target t: bits 3; it does at least 4");
  EXPECT_EQ(AbilitiesError("min_bits: 4 max_bits: 7", 8), "target t: bits 8; it does 4 to 7");
}

// Its codes are integers times that of their group, of 4 bits.
TEST(Target, MeansTheBitsOfTheCodesThatAreStored) {
  EXPECT_EQ(AbilitiesError("max_bits: 8", 4, "channel_wise_grouped"), "");
  EXPECT_EQ(AbilitiesError("max_bits: 8", 5, "channel_wise_grouped"),
            "target t: bits 5, whose codes have 9; it does at most 8");
  EXPECT_EQ(AbilitiesError("min_bits: 8", 4, "channel_wise_grouped"), "");
  EXPECT_EQ(AbilitiesError("min_bits: 2", 1, "channel_wise_binary"), "") << "-1 and 1, of 2 bits";
}

// Half of the codes of s8 are negative, and those of u8 reach 255.
TEST(Target, CountsTheProductsThatAnAccumulatorHolds) {
  QuantSpec s8;
  s8.set_bits(8);
  s8.set_signedness(QuantSpec::SIGNED);
  s8.set_rounding(QuantSpec::HALF_TO_EVEN);
  QuantSpec u8 = s8;
  u8.set_signedness(QuantSpec::UNSIGNED);
  QuantSpec away = s8;
  away.set_rounding(QuantSpec::HALF_AWAY_FROM_ZERO);
  EXPECT_EQ(MostProducts(16, s8, s8), 1);
  EXPECT_EQ(MostProducts(16, away, away), 2);
  EXPECT_EQ(MostProducts(32, u8, away), 66311);
  EXPECT_EQ(MostProducts(64, u8, s8), INT64_MAX / (255 * 128));
  QuantSpec affine = s8;
  affine.set_scheme(QuantSpec::AFFINE);
  EXPECT_EQ(MostProducts(24, affine, s8), 8388607 / (255 * 128)) << "a code less its zero point";
}

std::string StepsError(const std::string& quantizer, const std::string& parameters) {
  const QuantizerTable quantizers;
  const auto target = ParseTarget(
      absl::StrCat(kGood, "activation_abilities { power_of_two_steps: true }"), "t", quantizers);
  EXPECT_TRUE(target.ok()) << target.status();
  QuantSpec spec = target->activations();
  spec.set_quantizer(quantizer);
  if (!parameters.empty()) (*spec.mutable_parameters())[parameters] = 1;
  return std::string(
      CheckAbilities(*target, SlotRole::ACTIVATION, *quantizers.Find(quantizer), spec).message());
}

TEST(Target, WantsStepsThatArePowersOfTwo) {
  EXPECT_EQ(StepsError("abs_max", "power_of_two_steps"), "");
  EXPECT_EQ(StepsError("tqt", ""), "") << "it has no others";
  EXPECT_EQ(StepsError("abs_max", ""),
            "target t: quantizer abs_max is told not to widen its ranges (power_of_two_steps: 0), "
            "and all steps are powers of two");
  EXPECT_EQ(StepsError("lsq", ""),
            "target t: quantizer lsq does not make its steps powers of two, and all steps are "
            "powers of two");
}

INSTANTIATE_TEST_SUITE_P(Bad, TargetTest, testing::ValuesIn(kBadTargets),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
