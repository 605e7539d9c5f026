#include "transpiler/plan_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "proto/program.h"
#include "proto/program_text.h"
#include "proto/text_message.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/quantize_transpiler.h"

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

TEST(PlanFile, SaysTheSameBeforeAndAfterItIsApplied) {
  Program program = ParsedProgram(kText);
  const QuantPlan plan = PlanOf(&program);
  const Program original = ParsedProgram(kText);
  const auto read = PlanFromProto(plan, original);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->is_given);
  EXPECT_EQ(PrintTextMessage(PlanToProto(*read, original)), PrintTextMessage(plan));
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
  const absl::Status status = PlanFromProto(plan, program).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), GetParam().message);
}

constexpr BadPlan kBadPlans[] = {
    {"NoSuchBlock", "sites { value { variable: 'x' origin: ENTRY block: 1 } observe: true }",
     "plan: site 0 (x): the program has no block 1"},
    {"NoSuchVariable", "sites { value { variable: 'q' origin: ENTRY block: 0 } observe: true }",
     "plan: site 0 (q): block 0 knows no variable \"q\""},
    {"NoSuchValue", "sites { value { variable: 'x' origin: WRITE block: 0 op: 0 } observe: true }",
     "plan: site 0 (x): \"x\" has no value of origin WRITE there"},
    {"NoSuchOp", "sites { value { variable: 'y' origin: WRITE block: 0 op: 9 } observe: true }",
     "plan: site 0 (y): the program has no op 9 in block 0"},
    {"NoReader", "sites { value { variable: 'x' origin: ENTRY block: 0 } }",
     "plan: site 0 (x): it has no reader"},
    {"ReaderOfAnotherType",
     "sites { value { variable: 'x' origin: ENTRY block: 0 } "
     "readers { block: 0 op: 0 type: 'conv2d' slot: 'X' } }",
     "plan: site 0 (x): op 0 of block 0 is mul, not conv2d; the plan was made for another program\n"
     "plan: site 0 (x): it has no reader"},
    {"ReaderOfNoSuchSlot",
     "sites { value { variable: 'x' origin: ENTRY block: 0 } "
     "readers { block: 0 op: 0 type: 'mul' slot: 'Z' } }",
     "plan: site 0 (x): block 0, op 0 (mul) has no argument 0 in slot Z\n"
     "plan: site 0 (x): it has no reader"},
    {"ReaderOfAnotherValue",
     "sites { value { variable: 'x' origin: ENTRY block: 0 } "
     "readers { block: 0 op: 1 type: 'mul' slot: 'X' } }",
     "plan: site 0 (x): block 0, op 1 (mul) does not read that value in slot X"},
    {"DecisionAboutNoOp", "decisions { block: 0 op: 7 type: 'mul' reason: 'by_target' }",
     "plan: decision 0: the program has no op 7 in block 0"},
    {"DecisionForNoReason", "decisions { block: 0 op: 0 type: 'mul' reason: 'whim' }",
     "plan: decision 0: there is no reason \"whim\""},
};

INSTANTIATE_TEST_SUITE_P(Bad, PlanFileTest, testing::ValuesIn(kBadPlans),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MergeProfile, TakesRangesOfItsVariablesAndRefusesNonsense) {
  Program program = ParsedProgram(kText);
  const QuantPlan proto = PlanOf(&program);
  const Program original = ParsedProgram(kText);
  Plan plan = *PlanFromProto(proto, original);
  RangeProfile profile;
  RangeProfile::Entry* entry = profile.add_entries();
  entry->set_variable("x");
  entry->set_min(-1);
  entry->set_max(3);
  ASSERT_TRUE(MergeProfile(profile, plan).ok());
  EXPECT_EQ(plan.sites[0].range->max(), 3);
  EXPECT_FALSE(plan.sites[1].range.has_value());
  entry->set_min(4);
  EXPECT_EQ(std::string(MergeProfile(profile, plan).message()),
            "profile: \"x\" goes from 4 to 3; a range is finite, and min is not above max");
  entry->set_min(-std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::string(MergeProfile(profile, plan).message()),
            "profile: \"x\" goes from -inf to 3; a range is finite, and min is not above max");
}

}  // namespace
}  // namespace fixpoint
