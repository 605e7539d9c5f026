// A bias in int32: the plan as a text file, and the rewrite taken back. What it becomes is in
// tests/golden.

#include "transpiler/plan/integer_bias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "proto/program.h"
#include "proto/program_text.h"
#include "proto/quant_plan.pb.h"
#include "proto/text_message.h"
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
