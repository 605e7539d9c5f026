// A bias in int32: the plan as a text file, and the rewrite taken back. What it becomes is in
// tests/golden.

#include "transpiler/plan/integer_bias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/text_quantizer.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr char kTraining[] = R"(
  var x f32[-1,3]
  var w f32[3,4] persistable
  var b f32[4] persistable
  var p f32[-1,4]
  var y f32[-1,4]
  var p@GRAD f32[-1,4]
  var y@GRAD f32[-1,4]
  var w@GRAD f32[3,4]
  var b@GRAD f32[4]
  var lr f32[1] persistable
  mul(X=x, Y=w) -> (Out=p)
  elementwise_add(X=p, Y=b) -> (Out=y) {axis=-1}
  fill_constant() -> (Out=y@GRAD) {dtype=5, shape=[1, 4], value=1.0, op_role=1}
  elementwise_add_grad(Out@GRAD=y@GRAD, X=p, Y=b) -> (X@GRAD=p@GRAD, Y@GRAD=b@GRAD) {axis=-1, op_role=1}
  mul_grad(Out@GRAD=p@GRAD, X=x, Y=w) -> (Y@GRAD=w@GRAD) {op_role=1}
  sgd(Grad=b@GRAD, LearningRate=lr, Param=b) -> (ParamOut=b) {op_role=2}
)";

TranspileOptions ForInt32() {
  TranspileOptions options;
  options.target = *BuiltInTarget("onednn_int8");
  options.target->set_bias(Target::INT32);
  return options;
}

TEST(IntegerBias, IsAPlanThatIsReadAgain) {
  Program program = ParsedProgram(kTraining);
  const auto made = Transpile(&program, ForInt32());
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->plan.sites_size(), 3);
  EXPECT_EQ(made->plan.sites(2).role(), SlotRole::BIAS);
  EXPECT_THAT(made->plan.sites(2).ShortDebugString(),
              testing::HasSubstr("role: BIAS spec { bits: 32 } readers { block: 0 op: 1 type: "
                                 "\"elementwise_add\" slot: \"Y\" } gradient_readers { block: 0 "
                                 "op: 3 type: \"elementwise_add_grad\" slot: \"Y\" }"));

  QuantPlan read;
  ASSERT_TRUE(ParseTextMessage(made->plan.DebugString(), "plan", &read).ok());
  Program following = ParsedProgram(kTraining);
  TranspileOptions options = ForInt32();
  options.plan = &read;
  const auto followed = Transpile(&following, options);
  ASSERT_TRUE(followed.ok()) << followed.status();
  EXPECT_EQ(PrintProgram(following.Proto()), PrintProgram(program.Proto()));
}

TEST(IntegerBias, IsTakenBack) {
  for (const bool has_log : {true, false}) {
    Program program = ParsedProgram(kTraining);
    const std::string before = PrintProgram(program.Proto());
    ASSERT_TRUE(Transpile(&program, ForInt32()).ok());
    ASSERT_THAT(PrintProgram(program.Proto()), testing::HasSubstr("fake_quantize_dequantize_bias"));
    if (!has_log) {
      program.ClearEditLog();
      program.ForgetEdits();
    }
    const absl::Status undone = Untranspile(&program);
    ASSERT_TRUE(undone.ok()) << undone;
    EXPECT_EQ(PrintProgram(program.Proto()), before) << has_log;
  }
}

// The bias has the steps of its product: what a profile knows of its range is not used.
TEST(IntegerBias, HasNoRangeOfAProfile) {
  RangeProfile profile;
  RangeProfile::Entry* entry = profile.add_entries();
  entry->set_variable("b");
  entry->set_min(-1);
  entry->set_max(1);
  TranspileOptions options = ForInt32();
  options.profile = &profile;
  Program program = ParsedProgram(kTraining);
  const auto made = Transpile(&program, options);
  ASSERT_TRUE(made.ok()) << made.status();
  TranspileOptions with_plan = ForInt32();
  with_plan.plan = &made->plan;
  Program following = ParsedProgram(kTraining);
  const auto followed = Transpile(&following, with_plan);
  EXPECT_TRUE(followed.ok()) << followed.status();
}

// The scales of such a weight are those of rows, and a bias has an element for each column.
TEST(IntegerBias, StaysFloatWhereTheWeightIsOnTheLeft) {
  Program program = ParsedProgram(R"(
  var x f32[3,6]
  var w f32[6,3] persistable
  var b f32[6] persistable
  var p f32[6,6]
  var y f32[6,6]
  mul(X=w, Y=x) -> (Out=p)
  elementwise_add(X=p, Y=b) -> (Out=y) {axis=-1}
)");
  const auto made = Transpile(&program, ForInt32());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->plan.sites_size(), 2);
  EXPECT_THAT(made->plan.DebugString(),
              testing::HasSubstr("the weight is X, whose channels are rows"));
}

// Why the bias of a product with a weight of `rows` rows stays float; "" if it does not. With
// `of_sums`, sums are quantized before it is added. Null: the built-in quantizers.
std::string WhyFloat(int64_t rows, const std::string& config,
                     const std::optional<QuantSpec>& of_sums = std::nullopt,
                     const QuantizerTable* quantizers = nullptr) {
  Program program = ParsedProgram(
      absl::StrCat("var x f32[-1,", rows, "]\nvar w f32[", rows, ",4] persistable\n", R"(
  var b f32[4] persistable
  var p f32[-1,4]
  var y f32[-1,4]
  mul(X=x, Y=w) -> (Out=p)
  elementwise_add(X=p, Y=b) -> (Out=y) {axis=-1}
)"));
  TranspileOptions options = ForInt32();
  for (QuantSpec::Granularity granularity : {QuantSpec::PER_TENSOR, QuantSpec::PER_CHANNEL}) {
    options.target->mutable_weight_abilities()->add_granularities(granularity);
  }
  options.target->mutable_weight_abilities()->set_max_bits(16);
  options.target->mutable_activation_abilities()->set_max_bits(16);
  if (of_sums) {
    Target::ObservedOutputs& outputs = *options.target->add_outputs();
    outputs.add_types("mul");
    *outputs.mutable_spec() = *of_sums;
    outputs.set_quantize(true);
    outputs.set_always(true);
  }
  options.quantizers = quantizers;
  options.pipeline_options.stop_after = "plan_quantizers";
  EXPECT_TRUE(ParseTextMessage(config, "config", &options.config).ok());
  const auto made = Transpile(&program, options);
  EXPECT_TRUE(made.ok()) << made.status();
  if (!made.ok()) return "";
  const QuantPlan::Decision& sum = made->plan.decisions(1);
  return sum.quantized() ? "" : sum.detail();
}

TEST(IntegerBias, IsAddedWhere32BitsHoldTheSumsWithIt) {
  const int64_t most = (kLargestBiasCode - 1) / (128 * 128);
  EXPECT_EQ(WhyFloat(most, ""), "");
  EXPECT_EQ(WhyFloat(most + 1, ""), "32 bits may not hold the sums with the bias");
  constexpr char kRows[] = "fc_weights { quantizer: 'row_wise_min_max' }";
  EXPECT_EQ(WhyFloat((kLargestBiasCode - 1) / (128 * 255), kRows), "");
  EXPECT_EQ(WhyFloat((kLargestBiasCode - 1) / (128 * 255) + 1, kRows),
            "32 bits may not hold the sums with the bias");
  EXPECT_EQ(
      WhyFloat(INT32_MAX / (128 * 128) + 1, ""),
      "the product stays float: a sum of products of codes may not fit in 32 bits, or 53 where "
      "codes have more than 8");
}

TEST(IntegerBias, StaysFloatWhereTheProductDoes) {
  constexpr char kTooManyBits[] =
      "the sums are of codes of more than 8 bits, to which floats are added";
  EXPECT_EQ(WhyFloat(3, "activations { bits: 9 }"), kTooManyBits);
  EXPECT_EQ(WhyFloat(3, "weights { bits: 9 }"), kTooManyBits);
  // Codes of groups have 4 bits more than the spec.
  constexpr char kGroups[] =
      "weights { quantizer: 'channel_wise_grouped' axis: 1 form: FUSED granularity: PER_CHANNEL ";
  EXPECT_EQ(WhyFloat(3, absl::StrCat(kGroups, "bits: 4 }")), "");
  EXPECT_EQ(WhyFloat(3, absl::StrCat(kGroups, "bits: 6 }")), kTooManyBits);
  EXPECT_EQ(WhyFloat(3,
                     "weights { quantizer: 'channel_wise_abs_max' axis: 0 granularity: PER_CHANNEL "
                     "form: SEPARATE }"),
            "the product stays float: ranges belong to other channels than the output's");
  EXPECT_EQ(WhyFloat(3, "fc_weights { quantizer: 'row_wise_min_max' axis: 0 }"),
            "the product stays float: ranges belong to other channels than the output's");
}

TEST(IntegerBias, IsAddedToWideCodesOfSumsInStepsOfPowersOfTwo) {
  const auto why = [](const std::string& spec) {
    QuantSpec of_sums;
    EXPECT_TRUE(ParseTextMessage(spec, "spec", &of_sums).ok());
    return WhyFloat(3, "", of_sums);
  };
  constexpr char kPowers[] = "parameters { key: 'power_of_two_steps' value: 1 }";
  constexpr char kPlace[] = "X is p, which is quantized before the bias is added, ";
  EXPECT_EQ(why(absl::StrCat("bits: 13 ", kPowers)), "");
  EXPECT_EQ(why(absl::StrCat("bits: 9 ", kPowers)), "");
  EXPECT_EQ(why(absl::StrCat("bits: 8 ", kPowers)),
            absl::StrCat(kPlace, "to codes of 8 bits or fewer"));
  EXPECT_EQ(why(absl::StrCat("bits: 14 ", kPowers)),
            absl::StrCat(kPlace,
                         "to more codes than floats simulate exactly, up to 8191; want up "
                         "to 4095"));
  EXPECT_EQ(why("bits: 13"), absl::StrCat(kPlace, "and not in one step that is a power of two"));
  EXPECT_EQ(why(absl::StrCat("bits: 13 quantizer: 'abs_max' ", kPowers)),
            absl::StrCat(kPlace, "to a range that is found anew at every run"));
}

TEST(IntegerBias, IsAddedToCodesOfMoreBitsThanTheSpecHas) {
  auto read = ReadQuantizers(R"(
quantizer wider of tqt "Thresholds with one bit more."
forward:
  ceil(X=log2_threshold) -> (Out=exponent) {straight_through=true}
  fill_constant() -> (Out=two) {shape=[1L], dtype=5, value=2.0}
  elementwise_pow(X=two, Y=exponent) -> (Out=power)
  scale(X=largest) -> (Out=codes) {scale=2.0, bias=2.0}
  elementwise_div(X=power, Y=codes) -> (Out=step)
  scale(X=largest) -> (Out=largest_stored) {scale=2.0, bias=1.0}
  elementwise_mul(X=step, Y=largest_stored) -> (Out=range)
  fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=out) {bit_length="$bits+1"}
)",
                             "wider.txt");
  ASSERT_TRUE(read.ok()) << read.status();
  QuantizerTable quantizers;
  ASSERT_TRUE(quantizers.Add(std::move(read->front())).ok());
  const auto why = [&quantizers](int bits) {
    QuantSpec of_sums;
    of_sums.set_quantizer("wider");
    of_sums.set_form(QuantSpec::FUSED);
    of_sums.set_bits(bits);
    return WhyFloat(3, "", of_sums, &quantizers);
  };
  EXPECT_THAT(why(7), testing::EndsWith("to codes of 8 bits or fewer"));
  EXPECT_EQ(why(8), "");
  EXPECT_EQ(why(12), "");
  EXPECT_THAT(why(13), testing::EndsWith("up to 8191; want up to 4095"));
}

// The scale of an affine quantizer is a step, which stands for one code.
TEST(IntegerBias, HasTheStepsOfAffineCodes) {
  constexpr char kActivations[] = "activations { quantizer: 'moving_average_min_max' }";
  constexpr char kRows[] = "fc_weights { quantizer: 'row_wise_min_max' }";
  const std::pair<std::string, const char*> cases[] = {
      {"", "{input_largest_code=127, weight_largest_code=127"},
      {kActivations, "{input_largest_code=1, weight_largest_code=127"},
      {kRows, "{input_largest_code=127, weight_largest_code=1"},
      {absl::StrCat(kActivations, " weights { quantizer: 'moving_average_min_max' bits: 4 }"),
       "{input_largest_code=1, weight_largest_code=1"}};
  for (const auto& [config, codes] : cases) {
    Program program = ParsedProgram(kTraining);
    TranspileOptions options = ForInt32();
    ASSERT_TRUE(ParseTextMessage(config, "config", &options.config).ok());
    const auto made = Transpile(&program, options);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_THAT(PrintProgram(program.Proto()), testing::HasSubstr(codes)) << config;
  }
}

// The optimizer goes on updating the float bias.
TEST(IntegerBias, IsUpdatedAsAFloat) {
  Program program = ParsedProgram(kTraining);
  ASSERT_TRUE(Transpile(&program, ForInt32()).ok());
  const Op& sgd = *program.block(0).last_op();
  ASSERT_EQ(sgd.type(), "sgd");
  EXPECT_EQ(sgd.Input("Param")->name(), "b");
  EXPECT_EQ(sgd.Output("ParamOut")->name(), "b");
}

}  // namespace
}  // namespace fixpoint
