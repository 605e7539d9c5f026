#include "transpiler/plan/plan_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ops/quantizer_table.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr char kText[] = R"(
  var x f32[-1,4]
  var w f32[4,4] persistable
  var y f32[-1,4]
  var z f32[-1,4]
  mul(X=x, Y=w) -> (Out=y)
  mul(X=y, Y=w) -> (Out=z)
)";

QuantPlan PlanOf(Program* program) {
  auto result = Transpile(program);
  EXPECT_TRUE(result.ok()) << result.status();
  return result->plan;
}

absl::StatusOr<Plan> Read(const QuantPlan& plan, const Program& program) {
  return PlanFromProto(plan, program, *BuiltInTarget(kDefaultTarget), QuantizerTable());
}

TEST(PlanFile, SaysTheSameWhenItIsReadAgain) {
  Program program = ParsedProgram(kText);
  const QuantPlan plan = PlanOf(&program);
  const Program original = ParsedProgram(kText);
  const auto read = Read(plan, original);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PrintTextMessage(PlanToProto(*read)), PrintTextMessage(plan));
}

TEST(PlanFile, EditedByHandIsFollowed) {
  Program program = ParsedProgram(kText);
  QuantPlan plan = PlanOf(&program);
  // Sites x, w and y, in the order of their readers: w gets 4 bits, and y stays float.
  ASSERT_EQ(plan.sites_size(), 3);
  ASSERT_EQ(plan.sites(2).value().variable(), "y");
  plan.mutable_sites()->RemoveLast();
  plan.mutable_sites(1)->mutable_spec()->set_bits(4);
  Program edited = ParsedProgram(kText);
  TranspileOptions options;
  options.plan = &plan;
  ASSERT_TRUE(Transpile(&edited, options).ok());
  const std::string text = PrintProgram(edited.Proto());
  EXPECT_THAT(text, testing::HasSubstr("fake_channel_wise_quantize_abs_max(X=w) -> "
                                       "(Out=w.quantized, OutScale=w@scale) {bit_length=4"));
  EXPECT_THAT(text, testing::HasSubstr("mul(X=y, Y=w.quantized.dequantized) -> (Out=z)"));
}

// Positions are those of the program that plan_quantizers finds, whatever passes did before it.
TEST(PlanFile, IsOfTheProgramAfterThePassesBeforeIt) {
  constexpr char kCopies[] = R"(
    var x f32[-1,4]
    var x2 f32[-1,4]
    var w f32[4,4] persistable
    var y f32[-1,4]
    assign(X=x) -> (Out=x2)
    mul(X=x2, Y=w) -> (Out=y)
  )";
  TranspileOptions options;
  options.pipeline = absl::StrCat("remove_identities,", kTrainPipeline);
  Program made = ParsedProgram(kCopies);
  const auto result = Transpile(&made, options);
  ASSERT_TRUE(result.ok()) << result.status();
  Program followed = ParsedProgram(kCopies);
  options.plan = &result->plan;
  const auto again = Transpile(&followed, options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintProgram(followed.Proto()), PrintProgram(made.Proto()));
}

TEST(PlanFile, LeavesNothingToTheConfiguration) {
  Program program = ParsedProgram(kText);
  const QuantPlan plan = PlanOf(&program);
  Program other = ParsedProgram(kText);
  TranspileOptions options;
  options.plan = &plan;
  options.config.add_also_quantize("pool2d");
  EXPECT_EQ(
      std::string(Transpile(&other, options).status().message()),
      "configuration: also_quantize: the given plan already decides what is quantized, and how; "
      "leave one of them out");
}

TEST(PlanFile, BringsItsTarget) {
  Program program = ParsedProgram(kText);
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  const auto made = Transpile(&program, options);
  ASSERT_TRUE(made.ok()) << made.status();
  Program followed = ParsedProgram(kText);
  TranspileOptions with_plan;
  with_plan.plan = &made->plan;
  const auto result = Transpile(&followed, with_plan);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(PrintProgram(followed.Proto()), PrintProgram(program.Proto()));
}

TEST(PlanFile, GivesWeightsAZeroPointThatFollowsSteps) {
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  Program program = ParsedProgram(kText);
  const auto made = Transpile(&program, options);
  ASSERT_TRUE(made.ok()) << made.status();
  QuantPlan plan = made->plan;
  ASSERT_EQ(plan.sites(1).role(), SlotRole::WEIGHT);
  QuantSpec& spec = *plan.mutable_sites(1)->mutable_spec();
  spec.set_quantizer("moving_average_min_max");
  spec.set_granularity(QuantSpec::PER_TENSOR);
  spec.set_scheme(QuantSpec::AFFINE);
  spec.clear_axis();
  TranspileOptions with_plan;
  with_plan.plan = &plan;
  Program followed = ParsedProgram(kText);
  const auto result = Transpile(&followed, with_plan);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(PrintProgram(followed.Proto()),
              testing::HasSubstr("fake_quantize_moving_average_min_max(X=w, "));
}

TEST(PlanFile, ObservesByNoQuantizerThatHasNoOpForIt) {
  Program program = ParsedProgram(kText);
  QuantPlan plan = PlanOf(&program);
  QuantPlan::Site& observed = *plan.add_sites();
  observed = plan.sites(0);
  ASSERT_EQ(observed.value().variable(), "x");
  observed.clear_readers();
  observed.set_observe(true);
  observed.mutable_spec()->set_quantizer("abs_max");
  TranspileOptions options;
  options.plan = &plan;
  Program followed = ParsedProgram(kText);
  EXPECT_EQ(std::string(Transpile(&followed, options).status().message()),
            "plan: \"x\": quantizer abs_max has no observer in the program's era "
            "[in plan_quantizers]");
}

TEST(PlanFile, SaysOfParametersThatTheyAreWeights) {
  Program program = ParsedProgram(kText);
  QuantPlan plan = PlanOf(&program);
  plan.mutable_sites(1)->set_role(SlotRole::ACTIVATION);
  // An op whose weight is none has no decision to be quantized against.
  TranspileOptions options;
  options.plan = &plan;
  Program followed = ParsedProgram(kText);
  EXPECT_EQ(std::string(Transpile(&followed, options).status().message()),
            "plan: \"w\": role ACTIVATION; want WEIGHT of a parameter, and of nothing else "
            "[in plan_quantizers]");
}

TEST(PlanFile, QuantizesNoOpWhoseGradientReadsAnotherValue) {
  constexpr char kForward[] = R"(
    var x f32[-1,4]
    var r f32[-1,4]
    var w f32[4,2] persistable
    var y f32[-1,2]
    var y@GRAD f32[-1,2]
    var w@GRAD f32[4,2]
    relu(X=x) -> (Out=r) {op_role=0}
    mul(X=r, Y=w) -> (Out=y) {op_role=0}
    fill_constant() -> (Out=y@GRAD) {shape=[1L, 2L], dtype=5, value=1.0, op_role=1}
    mul_grad(Out@GRAD=y@GRAD, X=r, Y=w) -> (Y@GRAD=w@GRAD) {op_role=1}
  )";
  Program program = ParsedProgram(kForward);
  QuantPlan plan = PlanOf(&program);
  for (QuantPlan::Site& site : *plan.mutable_sites()) site.clear_gradient_readers();
  TranspileOptions options;
  options.plan = &plan;
  Program other = ParsedProgram(absl::StrReplaceAll(
      kForward, {{"mul_grad(Out@GRAD=y@GRAD, X=r", "mul_grad(Out@GRAD=y@GRAD, X=x"}}));
  const absl::Status status = Transpile(&other, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              testing::StartsWith("plan: site 0 (r): block 0, op 1 (mul) reads it, and block 0, op "
                                  "3 (mul_grad) may be its gradient op, or another op's; it has "
                                  "to stay float\n"));
}

struct BadPlan {
  const char* name;
  const char* plan;
  const char* message;
};

class PlanFileTest : public testing::TestWithParam<BadPlan> {};

TEST_P(PlanFileTest, SaysWhatDoesNotFit) {
  QuantPlan plan;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().plan, &plan));
  const Program program = ParsedProgram(kText);
  const absl::Status status = Read(plan, program).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), GetParam().message);
}

constexpr BadPlan kBadPlans[] = {
    {"NoSuchBlock", "sites { value { variable: 'x' origin: ENTRY block: 1 } observe: true }",
     "site 0 (x): the program has no block 1"},
    {"NoSuchVariable", "sites { value { variable: 'q' origin: ENTRY block: 0 } observe: true }",
     "site 0 (q): block 0 knows no variable \"q\""},
    {"NoSuchValue", "sites { value { variable: 'x' origin: WRITE block: 0 op: 0 } observe: true }",
     "site 0 (x): \"x\" has no value of origin WRITE there"},
    {"NoSuchOp", "sites { value { variable: 'y' origin: WRITE block: 0 op: 9 } observe: true }",
     "site 0 (y): the program has no op 9 in block 0"},
    {"NoReader", "sites { value { variable: 'x' origin: ENTRY block: 0 } }",
     "site 0 (x): it has no reader"},
    {"ReaderOfAnotherType",
     "sites { value { variable: 'x' origin: ENTRY block: 0 } "
     "readers { block: 0 op: 0 type: 'conv2d' slot: 'X' } }",
     "site 0 (x): op 0 of block 0 is mul, not conv2d; the plan was made for another program"},
    {"ReaderOfNoSuchSlot",
     "sites { value { variable: 'x' origin: ENTRY block: 0 } "
     "readers { block: 0 op: 0 type: 'mul' slot: 'Z' } }",
     "site 0 (x): block 0, op 0 (mul) has no argument 0 in slot Z"},
    {"ReaderOfAnotherValue",
     "sites { value { variable: 'x' origin: ENTRY block: 0 } "
     "readers { block: 0 op: 1 type: 'mul' slot: 'X' } }",
     "site 0 (x): block 0, op 1 (mul) does not read that value in slot X"},
    {"DecisionAboutNoOp", "decisions { block: 0 op: 7 type: 'mul' reason: 'by_target' }",
     "decision 0: the program has no op 7 in block 0"},
    {"DecisionForNoReason", "decisions { block: 0 op: 0 type: 'mul' reason: 'whim' }",
     "decision 0: there is no reason \"whim\""},
    {"DecisionToQuantizeWhatNoSiteRewires",
     "decisions { block: 0 op: 0 type: 'mul' reason: 'by_target' quantized: true }",
     "decision 0: block 0, op 0 (mul) is to be quantized, and no site has it among its "
     "readers"},
    {"DecisionAgainstASite",
     "sites { value { variable: 'w' origin: ENTRY block: 0 } role: WEIGHT "
     "readers { block: 0 op: 0 type: 'mul' slot: 'Y' } } "
     "decisions { block: 0 op: 0 type: 'mul' reason: 'by_target' quantized: false }",
     "decision 0: block 0, op 0 (mul) is to stay float, and site 0 (w) has it among its "
     "readers"},
    {"NoDecisionAboutAReader",
     "sites { value { variable: 'w' origin: ENTRY block: 0 } role: WEIGHT "
     "readers { block: 0 op: 0 type: 'mul' slot: 'Y' } }",
     "site 0 (w): block 0, op 0 (mul) reads it, and no decision is about it"},
    {"SharedScaleOfTwoSpecs",
     "sites { value { variable: 'x' origin: ENTRY block: 0 } role: ACTIVATION spec { bits: 8 } "
     "shared_scale: 's' "
     "readers { block: 0 op: 0 type: 'mul' slot: 'X' } } "
     "sites { value { variable: 'w' origin: ENTRY block: 0 } role: ACTIVATION spec { bits: 4 } "
     "shared_scale: 's' "
     "readers { block: 0 op: 0 type: 'mul' slot: 'Y' } }",
     "site 1 (w): its spec is not that of site 0, which shares its scale \"s\""},
};

INSTANTIATE_TEST_SUITE_P(Bad, PlanFileTest, testing::ValuesIn(kBadPlans),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(PlanFile, CountsWhatItDoesNotName) {
  QuantPlan plan;
  for (int i = 0; i < 23; ++i) {
    QuantPlan::Decision* const decision = plan.add_decisions();
    decision->set_op(7);
    decision->set_reason("by_target");
  }
  const Program program = ParsedProgram(kText);
  const std::string message(Read(plan, program).status().message());
  EXPECT_THAT(message, testing::EndsWith("decision 19: the program has no op 7 in block 0\n"
                                         "and 3 more"));
}

TEST(MergeProfile, TakesRangesOfItsVariablesAndRefusesNonsense) {
  Program program = ParsedProgram(kText);
  const QuantPlan proto = PlanOf(&program);
  const Program original = ParsedProgram(kText);
  Plan plan = *Read(proto, original);
  RangeProfile profile;
  RangeProfile::Entry* entry = profile.add_entries();
  entry->set_variable("x");
  entry->set_min(-1);
  entry->set_max(3);
  ASSERT_TRUE(MergeProfile(profile, original, plan).ok());
  EXPECT_EQ(plan.sites[0].range->max(), 3);
  EXPECT_FALSE(plan.sites[1].range.has_value());
  EXPECT_TRUE(Read(PlanToProto(plan), original).ok());
  // 1000 values of 1 and one of 3; nothing is negative.
  entry->mutable_positive()->add_bins(4064);
  entry->mutable_positive()->add_counts(1000);
  entry->mutable_positive()->add_bins(4112);
  entry->mutable_positive()->add_counts(1);
  plan.sites[0].spec.set_range_rule(QuantSpec::PERCENTILE);
  plan.sites[0].spec.set_percentile(99);
  ASSERT_TRUE(MergeProfile(profile, original, plan).ok());
  EXPECT_NEAR(plan.sites[0].range->max(), 1, 0.04);
  plan.sites[0].spec.clear_range_rule();
  entry->set_min(4);
  EXPECT_EQ(std::string(MergeProfile(profile, original, plan).message()),
            "\"x\" goes from 4 to 3; a range is finite, and min is not above max");
  entry->set_min(-std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::string(MergeProfile(profile, original, plan).message()),
            "\"x\" goes from -inf to 3; a range is finite, and min is not above max");
  entry->set_min(-1);
  *profile.add_entries() = *entry;
  EXPECT_EQ(std::string(MergeProfile(profile, original, plan).message()), "\"x\" is there twice");
  profile.mutable_entries(1)->set_variable("q");
  EXPECT_EQ(std::string(MergeProfile(profile, original, plan).message()),
            "\"q\" is not a variable of the program");
}

}  // namespace
}  // namespace fixpoint
