// Programs with a schedule: what can be told of them, taken back, and asked for wrongly.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "ops/verifier.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/without_marks.h"
#include "transpiler/train/found_rewrite.h"
#include "transpiler/train/invariants.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

// A layer with batch norm, and a step of gradient descent.
constexpr char kNormalizedProduct[] = R"(
  var x f32[-1,2]
  var w f32[2,2] persistable is_parameter
  var y f32[-1,2]
  var z f32[-1,2]
  var g f32[2] persistable is_parameter
  var b f32[2] persistable is_parameter
  var mean f32[2] persistable
  var variance f32[2] persistable
  var saved_mean f32[2]
  var saved_variance f32[2]
  var rate f32[1] persistable
  var z@GRAD f32[-1,2]
  var y@GRAD f32[-1,2]
  var w@GRAD f32[2,2]
  mul(X=x, Y=w) -> (Out=y)
  batch_norm(X=y, Scale=g, Bias=b, Mean=mean, Variance=variance) -> (Y=z, MeanOut=mean, VarianceOut=variance, SavedMean=saved_mean, SavedVariance=saved_variance)
  fill_constant() -> (Out=z@GRAD) {shape=[1L, 2L], dtype=5, value=1.0, op_role=257}
  batch_norm_grad(X=y, Scale=g, Bias=b, MeanOut=mean, VarianceOut=variance, SavedMean=saved_mean, SavedVariance=saved_variance, Y@GRAD=z@GRAD) -> (X@GRAD=y@GRAD) {op_role=1}
  mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
  sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}
)";

class Scheduled : public testing::TestWithParam<const char*> {
 protected:
  Scheduled() {
    options_.config.set_target("onednn_int8");
    for (QuantSpec* spec :
         {options_.config.mutable_weights(), options_.config.mutable_activations()}) {
      spec->set_quantizer(GetParam());
      spec->set_form(QuantSpec::FUSED);
    }
    Schedule& schedule = *options_.config.mutable_schedule();
    schedule.set_quantize_from_step(10);
    schedule.set_freeze_scales_from_step(20);
    schedule.set_freeze_batch_norm_from_step(30);
  }

  Program Transpiled() {
    Program program = ParsedProgram(kNormalizedProduct);
    const absl::StatusOr<TranspileResult> result = Transpile(&program, options_);
    EXPECT_TRUE(result.ok()) << result.status();
    return program;
  }

  static void ExpectNothingWrong(const Program& program) {
    const QuantizerTable quantizers;
    const absl::StatusOr<FoundRewrite> found = FindRewrite(program, quantizers);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->plan.sites.size(), 2);
    for (const Violation& violation : CheckInvariants(program, *found, /*startup=*/nullptr)) {
      ADD_FAILURE() << violation.message;
    }
    for (const Finding& finding : Verify(program)) ADD_FAILURE() << finding.message;
  }

  TranspileOptions options_;
};

TEST_P(Scheduled, NothingIsWrongWithTheResult) {
  Program program = Transpiled();
  program.ClearEditLog();
  ExpectNothingWrong(program);
}

TEST_P(Scheduled, NothingIsWrongWithTheResultWithoutItsMarks) {
  Program transpiled = Transpiled();
  transpiled.ClearEditLog();
  ExpectNothingWrong(WithoutMarks(transpiled));
}

TEST_P(Scheduled, IsUndone) {
  Program program = Transpiled();
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(PrintProgram(program.Proto()), PrintProgram(ParsedProgram(kNormalizedProduct).Proto()));
}

TEST_P(Scheduled, IsUndoneByMarks) {
  Program program = Transpiled();
  program.ClearEditLog();
  ASSERT_TRUE(Untranspile(&program).ok());
  // Slots that were added stay, empty.
  EXPECT_EQ(absl::StrReplaceAll(
                PrintProgram(program.Proto()),
                {{", Step=[]", ""}, {", Mean=[]", ""}, {", Variance=[]", ""}, {", X@GRAD=[]", ""}}),
            PrintProgram(ParsedProgram(kNormalizedProduct).Proto()));
}

TEST_P(Scheduled, AProgramWithoutBackwardOpsHasNoSteps) {
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var w f32[2,2] persistable is_parameter
    var y f32[-1,2]
    mul(X=x, Y=w) -> (Out=y)
  )");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(PrintProgram(program.Proto()), testing::Not(HasSubstr("STEP_COUNTER")));
}

TEST_P(Scheduled, APlanFileHasTheSchedule) {
  Program program = ParsedProgram(kNormalizedProduct);
  const absl::StatusOr<TranspileResult> first = Transpile(&program, options_);
  ASSERT_TRUE(first.ok()) << first.status();
  Program again = ParsedProgram(kNormalizedProduct);
  TranspileOptions by_plan;
  by_plan.plan = &first->plan;
  const absl::StatusOr<TranspileResult> second = Transpile(&again, by_plan);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(PrintProgram(again.Proto()), PrintProgram(program.Proto()));

  Program twice = ParsedProgram(kNormalizedProduct);
  by_plan.config.mutable_schedule()->set_quantize_from_step(3);
  EXPECT_THAT(std::string(Transpile(&twice, by_plan).status().message()),
              HasSubstr("schedule: the given plan already decides what is quantized"));
}

TEST_P(Scheduled, WantsAPassThatFreezesBatchNorm) {
  Program program = ParsedProgram(kNormalizedProduct);
  options_.pipeline = "plan_quantizers,insert_quantizers,train_scales,initialize_state";
  EXPECT_THAT(std::string(Transpile(&program, options_).status().message()),
              HasSubstr("the schedule freezes batch norm, and no pass of "
                        "plan_quantizers,insert_quantizers,train_scales,initialize_state does; add "
                        "freeze_batch_norm after insert_quantizers"));
}

INSTANTIATE_TEST_SUITE_P(Quantizers, Scheduled, testing::Values("lsq", "moving_average_abs_max"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           return std::string(info.param);
                         });

}  // namespace
}  // namespace fixpoint
