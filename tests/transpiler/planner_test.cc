#include "transpiler/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/quantizer_table.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

QuantConfig Config(const std::string& text) {
  QuantConfig config;
  EXPECT_TRUE(ParseTextMessage(text, "config", &config).ok());
  return config;
}

// Target paddle_2_6, which quantizes the outputs of relu where outputs are asked for.
Target QuantizingOutputs() {
  Target target = *BuiltInTarget("paddle_2_6");
  target.clear_outputs();
  Target::ObservedOutputs& outputs = *target.add_outputs();
  outputs.add_types("relu");
  outputs.set_quantize(true);
  return target;
}

// "r: 8 bits for mul.X, exp.X" of each site.
std::vector<std::string> Sites(const QuantPlan& plan) {
  std::vector<std::string> sites;
  for (const QuantPlan::Site& site : plan.sites()) {
    std::string text = absl::StrCat(site.value().variable(), ": ", site.spec().bits(), " bits");
    const char* separator = " for ";
    for (const QuantPlan::SlotRef& reader : site.readers()) {
      absl::StrAppend(&text, separator, reader.type(), ".", reader.slot());
      separator = ", ";
    }
    sites.push_back(std::move(text));
  }
  return sites;
}

// The sites of a transpile that quantizes outputs.
std::vector<std::string> SitesWithOutputs(const std::string& program_text,
                                          const std::string& config) {
  Program program = ParsedProgram(program_text);
  TranspileOptions options;
  options.config = Config(absl::StrCat("observe_outputs: true ", config));
  options.target = QuantizingOutputs();
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? Sites(result->plan) : std::vector<std::string>();
}

constexpr char kReluAndReaders[] = R"(
  var x f32[-1,4]
  var r f32[-1,4]
  var w f32[4,4] persistable
  var y f32[-1,4]
  var z f32[-1,4]
  relu(X=x) -> (Out=r)
  mul(X=r, Y=w) -> (Out=y)
  exp(X=r) -> (Out=z)
)";

// Files of 2018 and 2019 hold booleans as INT, for conditions of targets too.
TEST(Planner, ReadsBooleansThatAreInts) {
  TranspileOptions options;
  options.target = *BuiltInTarget("onednn_int8");
  options.target->clear_ops();
  Target::QuantizedOp& entry = *options.target->add_ops();
  entry.add_types("matmul");
  Target::Condition& condition = *entry.add_when();
  condition.set_attr("transpose_Y");
  condition.set_is(true);
  for (const auto& [slot, role] :
       {std::make_pair("X", SlotRole::ACTIVATION), std::make_pair("Y", SlotRole::WEIGHT)}) {
    Target::Slot& input = *entry.add_inputs();
    input.set_name(slot);
    input.set_role(role);
  }
  Program program = ParsedProgram(R"(
    var x f32[-1,4]
    var w f32[4,4] persistable
    var y f32[-1,4]
    var z f32[-1,4]
    matmul(X=x, Y=w) -> (Out=y) {transpose_Y=1}
    matmul(X=x, Y=w) -> (Out=z) {transpose_Y=0}
  )");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->plan.decisions(0).quantized());
  EXPECT_EQ(result->plan.decisions(1).reason(), "condition_not_met");
}

// An argument that stands for nothing has no value to be quantized.
TEST(Planner, LeavesAnAddendThatIsNotThere) {
  TranspileOptions options;
  options.config = Config(R"(
    target: "onednn_int8"
    rules { op_type: "fc" slot: "Bias" spec { quantizer: "abs_max" } optional: true }
  )");
  Program program = ParsedProgram(R"(
    var x f32[-1,4]
    var w f32[4,4] persistable
    var y f32[-1,4]
    fc(Input=x, W=w, Bias=@EMPTY@) -> (Out=y)
  )");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.decisions(0).reason(), "missing_input");
}

TEST(Planner, QuantizesAnOutputOnceForAllThatReadIt) {
  EXPECT_THAT(SitesWithOutputs(kReluAndReaders, ""),
              ElementsAre("r: 8 bits for mul.X, exp.X", "w: 8 bits for mul.Y"));
}

TEST(Planner, QuantizesAnOutputForWhatDoesNotReadItOtherwise) {
  EXPECT_THAT(
      SitesWithOutputs(kReluAndReaders, "rules { op_type: 'mul' slot: 'X' spec { bits: 4 } }"),
      ElementsAre("r: 4 bits for mul.X", "w: 8 bits for mul.Y", "r: 8 bits for exp.X"));
}

TEST(Planner, QuantizesAnOutputAsARuleSays) {
  EXPECT_THAT(SitesWithOutputs(kReluAndReaders, "rules { op_type: 'relu' spec { bits: 4 } }"),
              ElementsAre("r: 8 bits for mul.X", "w: 8 bits for mul.Y", "r: 4 bits for exp.X"));
}

TEST(Planner, LeavesAReaderOfAnOutputAloneWhereARuleSkipsIt) {
  EXPECT_THAT(SitesWithOutputs(kReluAndReaders, "rules { op_type: 'mul' skip: true }"),
              ElementsAre("r: 8 bits for exp.X"));
}

TEST(Planner, LeavesAReaderOfAnOutputAloneWhoseGradientIsNotKnown) {
  EXPECT_THAT(SitesWithOutputs(R"(
    var x f32[-1,4]
    var r f32[-1,4]
    var w f32[4,4] persistable
    var y f32[-1,4]
    var y@GRAD f32[-1,4]
    var w@GRAD f32[4,4]
    relu(X=x) -> (Out=r)
    mul(X=r, Y=w) -> (Out=y)
    mul(X=r, Y=w) -> (Out=y)
    mul_grad(X=r, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
  )",
                               ""),
              ElementsAre());
}

TEST(Planner, LeavesALoopThatTakesAnOutputInAlone) {
  EXPECT_THAT(SitesWithOutputs(R"(
    program version=2006002
    block 0 {
      var x f32[-1,4]
      var r f32[-1,4]
      var c bool[1]
      var z f32[-1,4]
      var scopes step_scopes
      relu(X=x) -> (Out=r)
      while(X=[r], Condition=c) -> (Out=[z], StepScopes=scopes) {sub_block=block(1)}
    }
    block 1 parent=0 {
      exp(X=r) -> (Out=z)
    }
  )",
                               ""),
              ElementsAre("r: 8 bits for exp.X"));
}

constexpr char kResidual[] = R"(
  var x f32[-1,4]
  var z f32[-1,4]
  var r f32[-1,4]
  var w f32[4,4] persistable
  var y f32[-1,4]
  var a f32[-1,4]
  var sum f32[-1,4]
  mul(X=x, Y=w) -> (Out=y)
  exp(X=y) -> (Out=a)
  mul(X=a, Y=w) -> (Out=z)
  leaky_relu(X=z) -> (Out=r)
  elementwise_add(X=r, Y=a) -> (Out=sum)
)";

// The sites of activations and the decision about the sum, for target onednn_int8.
std::vector<std::string> SitesWithResidual(const std::string& config) {
  Program program = ParsedProgram(kResidual);
  TranspileOptions options;
  options.config = Config(absl::StrCat("target: 'onednn_int8' ", config));
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  std::vector<std::string> lines;
  for (std::string& site : Sites(result->plan)) {
    if (site[0] != 'w') lines.push_back(std::move(site));
  }
  const QuantPlan::Decision& sum = result->plan.decisions(result->plan.decisions_size() - 1);
  lines.push_back(absl::StrCat(sum.reason(), ": ", sum.detail()));
  return lines;
}

TEST(Planner, QuantizesAResidualAsAnotherOpReadsIt) {
  EXPECT_THAT(SitesWithResidual(""),
              ElementsAre("x: 8 bits for mul.X", "a: 8 bits for mul.X, elementwise_add.Y",
                          "by_target: Y alone, as the residual"));
  EXPECT_THAT(
      SitesWithResidual("rules { op_type: 'mul' name_pattern: 'a' slot: 'X' spec { bits: 4 } }"),
      ElementsAre("x: 8 bits for mul.X", "a: 4 bits for mul.X, elementwise_add.Y",
                  "by_target: Y alone, as the residual"));
}

TEST(Planner, KeepsAResidualFloatWhereARuleSkipsTheSum) {
  EXPECT_THAT(SitesWithResidual("rules { op_type: 'elementwise_add' skip: true }"),
              ElementsAre("x: 8 bits for mul.X", "a: 8 bits for mul.X", "skipped_by_rule: Y"));
  EXPECT_THAT(SitesWithResidual("rules { name_pattern: 'z' op_type: 'mul' skip: true }"),
              ElementsAre("x: 8 bits for mul.X",
                          "no_residual: neither input is the result of a quantized product that "
                          "nothing else reads"));
}

TEST(Planner, TellsWhichSlotARuleSkips) {
  Program program = ParsedProgram(kReluAndReaders);
  TranspileOptions options;
  options.config = Config("rules { op_type: 'mul' slot: 'Y' skip: true }");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->plan.decisions_size(), 1);
  EXPECT_EQ(result->plan.decisions(0).reason(), "by_target");
  EXPECT_EQ(result->plan.decisions(0).detail(), "Y stays float (rule 1)");
}

// "by_rule (its name)" of the only decision about a product.
std::string DecisionUnder(const std::string& rules) {
  Program program = ParsedProgram(kReluAndReaders);
  TranspileOptions options;
  options.config = Config(rules);
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok() || result->plan.decisions_size() != 1) return "";
  const QuantPlan::Decision& decision = result->plan.decisions(0);
  return absl::StrCat(decision.reason(), " (", decision.rule(), ")");
}

TEST(Planner, NamesTheRuleThatDecidedWhicheverSlotItIsAbout) {
  EXPECT_EQ(DecisionUnder("rules { name: 'x' op_type: 'mul' slot: 'X' spec { bits: 7 } }"),
            "by_rule (x)");
  EXPECT_EQ(DecisionUnder("rules { name: 'y' op_type: 'mul' slot: 'Y' spec { bits: 7 } }"),
            "by_rule (y)");
  EXPECT_EQ(DecisionUnder("rules { name: 'x' op_type: 'mul' slot: 'X' spec { bits: 7 } } "
                          "rules { name: 'y' op_type: 'mul' slot: 'Y' skip: true }"),
            "by_rule (x)");
  EXPECT_EQ(DecisionUnder("rules { name: 'all' op_type: 'mul' skip: true }"),
            "skipped_by_rule (all)");
}

TEST(Planner, NamesTheRuleThatDecidedOrAskedInVain) {
  EXPECT_EQ(DecisionUnder("rules { name: 'y' op_type: 'mul' slot: 'Y' skip: true }"),
            "by_target ()");
  EXPECT_EQ(DecisionUnder("rules { name: 'x' op_type: 'mul' slot: 'X' "
                          "spec { signedness: UNSIGNED bits: 7 } } "
                          "rules { name: 'y' op_type: 'mul' slot: 'Y' "
                          "spec { quantizer: 'channel_wise_abs_max' axis: 7 } }"),
            "axis_unknown (y)");
}

// The signedness of what a product of activations that are never negative reads, and what its
// decision says.
std::vector<std::string> ProductOfNeverNegative(const std::string& config) {
  Program program = ParsedProgram(R"(
    var x f32[-1,4,4]
    var r f32[-1,4,4]
    var s f32[-1,4,4]
    var y f32[-1,4,4]
    relu(X=x) -> (Out=r)
    softmax(X=x) -> (Out=s)
    matmul_v2(X=r, Y=s) -> (Out=y)
  )");
  TranspileOptions options;
  options.config = Config(absl::StrCat("target: 'onednn_int8' ", config));
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok() || result->plan.decisions_size() != 1) return {};
  std::vector<std::string> lines;
  for (const QuantPlan::Site& site : result->plan.sites()) {
    lines.push_back(absl::StrCat(site.value().variable(), ": ",
                                 QuantSpec::Signedness_Name(site.spec().signedness())));
  }
  lines.push_back(result->plan.decisions(0).detail());
  return lines;
}

// Integer products multiply signed codes on the right.
TEST(Planner, GivesTheRightOperandOfAProductSignedCodes) {
  EXPECT_THAT(ProductOfNeverNegative(""), ElementsAre("r: UNSIGNED", "s: SIGNED", ""));
  EXPECT_THAT(ProductOfNeverNegative("activations { quantizer: 'moving_average_min_max' }"),
              ElementsAre("r: UNSIGNED", "s: UNSIGNED", ""));
  EXPECT_THAT(ProductOfNeverNegative("rules { slot: 'Y' spec { signedness: UNSIGNED } }"),
              ElementsAre("r: UNSIGNED", "s: UNSIGNED",
                          "Y has unsigned codes, so the product is not lowered"));
}

// Codes of groups have 4 bits more than the spec.
TEST(Planner, CountsTheBitsOfStoredCodesInAnAccumulator) {
  Program program = ParsedProgram(R"(
  var x f32[-1,784]
  var w f32[784,4] persistable
  var y f32[-1,4]
  mul(X=x, Y=w) -> (Out=y)
)");
  TranspileOptions options;
  options.target = *BuiltInTarget("onednn_int8");
  options.target->set_accumulator_bits(24);
  options.config = Config(
      "weights { quantizer: 'channel_wise_grouped' granularity: PER_CHANNEL axis: 1 form: FUSED "
      "bits: 4 }");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.decisions(0).detail(), "784 products of 8 and 8 bits; 24 bits hold 511");
}

TEST(Planner, NamesEverySlotThatARuleSkips) {
  Program program = ParsedProgram(kReluAndReaders);
  TranspileOptions options;
  options.config = Config(
      "rules { name: 'x' op_type: 'mul' slot: 'X' skip: true } "
      "rules { op_type: 'mul' slot: 'Y' skip: true }");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.decisions(0).detail(), "X (x), Y");
  EXPECT_EQ(result->plan.decisions(0).rule(), "rule 2");
}

TEST(Planner, NamesTheRuleThatAsksForWhatTheTargetCannotDo) {
  Program program = ParsedProgram(kReluAndReaders);
  TranspileOptions options;
  options.config = Config(
      "target: 'onednn_int8' "
      "rules { name: 'wide' op_type: 'mul' slot: 'X' spec { bits: 12 } } "
      "weights { bits: 12 }");
  EXPECT_EQ(
      std::string(Transpile(&program, options).status().message()),
      "configuration: block 0, op 1 (mul): X is r, by_rule (wide): target onednn_int8: bits "
      "12; it does 2 to 8\n"
      "configuration: block 0, op 1 (mul): Y is w: target onednn_int8: bits 12; it does 2 to 8 "
      "[in plan_quantizers]");
}

TEST(Planner, AMovingAverageIsOfSamples) {
  Program program = ParsedProgram(kReluAndReaders);
  TranspileOptions options;
  options.config = Config("target: 'onednn_int8' weights { range_rule: MOVING_AVERAGE }");
  EXPECT_EQ(std::string(Transpile(&program, options).status().message()),
            "configuration: block 0, op 1 (mul): Y is w: range_rule MOVING_AVERAGE is one of "
            "samples, and weights have none; want MIN_MAX, PERCENTILE, MSE or KL, or a rule of the "
            "activation's slot [in plan_quantizers]");
}

// The output of a relu is observed on request, and never quantized.
TEST(Planner, RefusesARuleAboutWhatIsNeverQuantized) {
  for (const std::string slot : {"", "slot: \"Out\" "}) {
    Program program = ParsedProgram(kReluAndReaders);
    TranspileOptions options;
    options.config = Config(absl::StrCat("rules { op_type: 'relu' ", slot, "skip: true }"));
    EXPECT_EQ(
        std::string(Transpile(&program, options).status().message()),
        absl::StrCat("configuration: no quantizable op matches rule 1 { op_type: \"relu\" ", slot,
                     "}; correct it, or set `optional: true` (in a textproto) where that is meant "
                     "[in plan_quantizers]"));
    options.config.set_observe_outputs(true);
    EXPECT_TRUE(Transpile(&program, options).ok());
  }
}

TEST(Planner, SaysWhereNothingIsObserved) {
  const auto notes_of = [](const std::string& program, const std::string& config) {
    Program parsed = ParsedProgram(program);
    TranspileOptions options;
    options.config = Config(absl::StrCat("observe_outputs: true ", config));
    const absl::StatusOr<TranspileResult> result = Transpile(&parsed, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->notes : std::vector<std::string>();
  };
  const auto about = [](const std::string& why) {
    return testing::Contains(absl::StrCat("observe_outputs: ", why));
  };
  EXPECT_THAT(notes_of(kReluAndReaders, ""),
              testing::Not(testing::Contains(testing::HasSubstr("observe_outputs"))));
  EXPECT_THAT(notes_of(kReluAndReaders, "target: 'tensorrt_int8'"),
              about("target tensorrt_int8 observes no outputs"));
  EXPECT_THAT(notes_of(kReluAndReaders,
                       "rules { op_type: 'mul' slot: 'Out' skip: true } "
                       "rules { op_type: 'relu' skip: true }"),
              about("nothing is observed: of the outputs that target paddle_2_6 lists, each is "
                    "skipped by a rule or cannot be quantized"));
  EXPECT_THAT(notes_of("var x f32[-1,4]\nvar y f32[-1,4]\nsin(X=x) -> (Out=y)\n", ""),
              about("the program has no op whose outputs target paddle_2_6 observes"));
}

TEST(Planner, TellsQuantizersOfGradientsApart) {
  const auto message_of = [](const char* config) {
    Program program = ParsedProgram(R"(
      var x f32[-1,4]
      var w f32[4,4] persistable is_parameter
      var y f32[-1,4]
      var y@GRAD f32[-1,4]
      var w@GRAD f32[4,4]
      mul(X=x, Y=w) -> (Out=y) {op_role=0}
      fill_zeros_like(X=y) -> (Out=y@GRAD) {op_role=257}
      mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
    )");
    TranspileOptions options;
    options.config = Config(config);
    return std::string(Transpile(&program, options).status().message());
  };
  EXPECT_EQ(message_of("target: 'onednn_int8' gradients {}"), "");
  EXPECT_THAT(message_of("target: 'paddle_2_6' gradients {}"),
              HasSubstr("gradients: target paddle_2_6: quantizer stochastic_abs_max is not among "
                        "the reference's ops"));
  EXPECT_THAT(message_of("target: 'onednn_int8' gradients { quantizer: 'lsq' }"),
              HasSubstr("gradients: quantizer lsq is not for gradients"));
  EXPECT_THAT(message_of("target: 'onednn_int8' gradients { bits: 9 }"),
              HasSubstr("gradients: quantizer stochastic_abs_max: bits is 9; it goes from 2 to 8"));
  EXPECT_THAT(message_of("target: 'onednn_int8' activations { quantizer: 'stochastic_abs_max' }"),
              HasSubstr("quantizer stochastic_abs_max rounds by chance in test programs too; it is "
                        "for gradients"));
}

TEST(Planner, NamesTheQuantizersThatThereAreForOneThatIsNot) {
  std::string known;
  const QuantizerTable quantizers;
  for (const auto& quantizer : quantizers.all()) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(quantizer->name()));
  }
  Program program = ParsedProgram(R"(
    var x f32[-1,4]
    var w f32[4,4] persistable
    var y f32[-1,4]
    mul(X=x, Y=w) -> (Out=y) {op_role=0}
  )");
  TranspileOptions options;
  options.config = Config("weights { quantizer: 'histogram' }");
  EXPECT_EQ(std::string(Transpile(&program, options).status().message()),
            absl::StrCat("configuration: block 0, op 0 (mul): Y is w: there is no quantizer "
                         "\"histogram\"; there are ",
                         known, "; --quantizers=FILE adds those of a text [in plan_quantizers]"));
}

TEST(Planner, ForgetsWhatWasSaidOfAQuantizerThatIsReplaced) {
  Program program = ParsedProgram(kReluAndReaders);
  TranspileOptions options;
  options.config = Config(R"(
      activations { quantizer: 'range_abs_max' parameters { key: 'window_size' value: 100 } }
      rules { op_type: 'mul' slot: 'X'
              spec { quantizer: 'moving_average_abs_max'
                     parameters { key: 'moving_rate' value: 0.5 } } }
  )");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  const QuantSpec& spec = result->plan.sites(0).spec();
  EXPECT_EQ(spec.quantizer(), "moving_average_abs_max");
  EXPECT_EQ(spec.parameters().count("window_size"), 0u);
  EXPECT_EQ(spec.parameters().at("moving_rate"), 0.5);
}

// Each product that is computed once more is named by where it stands.
TEST(Planner, FindsThePlacesOfOpsOnce) {
  constexpr int kCount = 10000;
  std::string text = "var x0 f32[-1,2]\n";
  for (int i = 0; i < kCount; ++i) {
    absl::StrAppend(&text, "var w", i, " f32[2,2] persistable\nvar x", i + 1, " f32[-1,2]\nvar x",
                    i + 1, ".r f32[-1,2]\n");
  }
  for (int i = 0; i < kCount; ++i) {
    absl::StrAppend(&text, "mul(X=x", i, ", Y=w", i, ") -> (Out=x", i + 1, ") {op_role=0}\n");
  }
  for (int i = 0; i < kCount; ++i) {
    absl::StrAppend(&text, "mul(X=x", i, ", Y=w", i, ") -> (Out=x", i + 1, ".r) {op_role=1}\n");
  }
  const Program program = ParsedProgram(text);
  const absl::StatusOr<Plan> plan =
      MakePlan(program, QuantConfig(), *BuiltInTarget("paddle_2_6"), QuantizerTable(), "");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->decisions.size(), static_cast<size_t>(kCount));
  EXPECT_EQ(plan->decisions.back().reason, Reason::kGradientNotUnique);
  EXPECT_EQ(plan->decisions.back().detail, absl::StrCat("block 0, op ", 2 * kCount - 1, " (mul)"));
}

// Each product asks whether what it reads may be negative, along all reshapes before it.
TEST(Planner, LooksAtAChainOnce) {
  constexpr int kLength = 10000;
  std::string text = "var w f32[4,4] persistable\nvar x0 f32[-1,4]\n";
  for (int i = 1; i <= kLength; ++i) {
    absl::StrAppend(&text, "var x", i, " f32[-1,4]\nvar y", i, " f32[-1,4]\n");
  }
  for (int i = 1; i <= kLength; ++i) {
    absl::StrAppend(&text, "reshape(X=x", i - 1, ") -> (Out=x", i, ") {shape=[-1, 4]}\n");
  }
  for (int i = 1; i <= kLength; ++i) {
    absl::StrAppend(&text, "mul(X=x", i, ", Y=w) -> (Out=y", i, ")\n");
  }
  const Program program = ParsedProgram(text);
  const absl::StatusOr<Plan> plan =
      MakePlan(program, QuantConfig(), *BuiltInTarget("onednn_int8"), QuantizerTable(), "");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->sites.size(), static_cast<size_t>(kLength) + 1);
}

}  // namespace
}  // namespace fixpoint
