#include "transpiler/pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/quantizer.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

struct WrongText {
  const char* text;
  const char* message;
};

TEST(Pipeline, RefusesAWrongOrderBeforeAnythingRuns) {
  const std::vector<WrongText> cases = {
      {"", "pipeline: it names no pass"},
      {"insert_quantizers",
       "pipeline: insert_quantizers requires \"planned\", which no pass before it establishes"},
      {"plan_quantizers,insert_quantizers,insert_quantizers",
       "pipeline: insert_quantizers requires \"planned\", which does not hold any more after "
       "insert_quantizers"},
      {"plan_quantizers,insert_quantizers,initialize_state",
       "pipeline: initialize_state requires \"startup_program\", which this pipeline is not given"},
  };
  for (const WrongText& wrong : cases) {
    const absl::Status status = Pipeline::Parse(wrong.text, TrainPasses(), {"target"}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong.text;
    EXPECT_EQ(std::string(status.message()), wrong.message);
  }
}

TEST(Pipeline, RefusesAPassOfParametersWhereNoneAreGiven) {
  const std::vector<WrongText> cases = {
      {"strip_training,set_test_mode,freeze_observers",
       "pipeline: freeze_observers requires \"trained_parameters\", which this pipeline is not "
       "given"},
      {"strip_training,set_test_mode,quantize_weights",
       "pipeline: quantize_weights requires \"trained_parameters\", which this pipeline is not "
       "given"},
  };
  for (const WrongText& wrong : cases) {
    const absl::Status status = Pipeline::Parse(wrong.text, FreezePasses()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong.text;
    EXPECT_EQ(std::string(status.message()), wrong.message);
  }
}

TEST(Pipeline, RefusesToRunAPassInTheContextOfAnotherStage) {
  const PassTable passes = TrainPasses();
  const absl::StatusOr<Pipeline> pipeline =
      Pipeline::Parse(kTrainPipeline, passes, {"target", "startup_program"});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  Program program = ParsedProgram("var x f32[-1,4]\nrelu(X=x) -> (Out=x)");
  const QuantizerTable quantizers;
  FreezeContext context(quantizers);
  const absl::Status status = pipeline->Run(program, context, PipelineOptions());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("fold_training_batch_norm is a pass of another stage"));
}

// Says that there is a plan, and makes none.
class ClaimsAPlan final : public Pass {
 public:
  absl::string_view name() const override { return "claims_a_plan"; }
  absl::string_view doc() const override { return "Makes no plan."; }
  std::vector<std::string> Establishes() const override { return {"planned"}; }
  absl::Status Run(Program&, PassContext&) const override { return absl::OkStatus(); }
};

TEST(Pipeline, RefusesAPassOfTrainingWhereNothingIsTrained) {
  PassTable passes = TrainPasses();
  ASSERT_TRUE(passes.Add(std::make_unique<ClaimsAPlan>()).ok());
  const std::vector<WrongText> cases = {
      {"plan_quantizers",
       "pipeline: plan_quantizers requires \"target\", which this pipeline is not given"},
      {"claims_a_plan,insert_quantizers",
       "pipeline: insert_quantizers requires \"target\", which this pipeline is not given"},
  };
  for (const WrongText& wrong : cases) {
    const absl::Status status =
        Pipeline::Parse(wrong.text, passes, {"trained_parameters"}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong.text;
    EXPECT_EQ(std::string(status.message()), wrong.message);
  }
}

TEST(Pipeline, RunsWithoutTrainingWhatRequiresNothingOfIt) {
  const PassTable passes = FreezePasses();
  const QuantizerTable quantizers;
  int run = 0;
  for (const auto& pass : passes.all()) {
    const auto pipeline = Pipeline::Parse(pass->name(), passes, {"training_stripped", "test_mode"});
    if (!pipeline.ok()) continue;
    Program program = ParsedProgram("var x f32[-1,4]\nrelu(X=x) -> (Out=x)");
    FreezeContext context(quantizers);
    pipeline->Run(program, context, PipelineOptions()).IgnoreError();
    ++run;
  }
  EXPECT_GE(run, 5);
}

TEST(Pipeline, NamesThePassesThatThereAreForOneThatIsNot) {
  const PassTable passes = TrainPasses();
  std::string message = "pipeline: there is no pass \"plan_quantizer\"; there are ";
  const char* separator = "";
  for (const auto& pass : passes.all()) {
    absl::StrAppend(&message, separator, pass->name());
    separator = ", ";
  }
  EXPECT_EQ(std::string(Pipeline::Parse("plan_quantizer", passes).status().message()), message);
}

TEST(Pipeline, TakesFactsThatTheCallerGives) {
  EXPECT_TRUE(Pipeline::Parse(kTrainPipeline, TrainPasses(), {"target", "startup_program"}).ok());
  EXPECT_TRUE(Pipeline::Parse("strip_training,set_test_mode,quantize_weights", FreezePasses(),
                              {"trained_parameters"})
                  .ok());
}

TEST(Pipeline, OfATranspileLeavesATrainingProgramWithItsStateInitialised) {
  const std::vector<WrongText> cases = {
      {"strip_training",
       "pipeline: there is no pass \"strip_training\"; there are fold_training_batch_norm, "
       "plan_quantizers, "
       "insert_quantizers, train_scales, freeze_batch_norm, initialize_state, "
       "remove_dead_variables, remove_identities"},
      {"plan_quantizers,plan_quantizers",
       "pipeline: plan_quantizers is there again; \"planned\" holds already"},
      {"plan_quantizers",
       "pipeline: no pass inserts the quantizers that are planned; add insert_quantizers and "
       "initialize_state, or leave the pipeline as it is and stop after plan_quantizers"},
      {"plan_quantizers,remove_identities,insert_quantizers,initialize_state",
       "pipeline: remove_identities comes before whatever establishes \"planned\"; put it "
       "earlier"},
      {"plan_quantizers,insert_quantizers,initialize_state,remove_identities",
       "pipeline: remove_identities comes before whatever establishes \"planned\"; put it "
       "earlier"},
      {"plan_quantizers,insert_quantizers",
       "pipeline: no pass initialises the state of the quantizers; add initialize_state, or leave "
       "the pipeline as it is and stop after insert_quantizers"},
  };
  for (const WrongText& wrong : cases) {
    TranspileOptions options;
    options.pipeline = wrong.text;
    Program program = ParsedProgram("block 0 {\n}\n");
    const absl::Status status = Transpile(&program, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong.text;
    EXPECT_EQ(std::string(status.message()), wrong.message);
  }
}

constexpr char kProduct[] = R"(
  var x f32[-1,4]
  var w f32[4,4] persistable
  var y f32[-1,4]
  mul(X=x, Y=w) -> (Out=y)
)";

// A target need not come from a file.
TEST(Transpile, RefusesATargetThatIsNotComplete) {
  TranspileOptions options;
  options.target.emplace();
  options.target->set_name("mine");
  options.target->add_ops()->add_types("mul");
  Program program = ParsedProgram(R"(
    var x f32[-1,4]
    var w f32[4,2] persistable
    var y f32[-1,2]
    mul(X=x, Y=w) -> (Out=y)
  )");
  const absl::Status status = Transpile(&program, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("mine: ops[0].inputs is empty"));
}

TEST(Transpile, RefusesAStartupProgramOfAnotherRun) {
  Program program = ParsedProgram(kProduct);
  Program startup = ParsedProgram("block 0 {\n}\n");
  TranspileOptions options;
  options.startup = &startup;
  ASSERT_TRUE(Transpile(&program, options).ok());
  Program again = ParsedProgram(kProduct);
  const std::string bytes = startup.Proto().SerializeAsString();
  EXPECT_EQ(Transpile(&again, options).status(),
            absl::FailedPreconditionError(
                "program.txt: the startup program was quantized by Fixpoint already, and "
                "program.txt was not; want the startup program as it was before, or none, for a "
                "new one"));
  EXPECT_EQ(startup.Proto().SerializeAsString(), bytes);
}

TEST(Pipeline, AsksTheCallersOwnCheckToo) {
  Program program = ParsedProgram(kProduct);
  const std::string bytes = program.Proto().SerializeAsString();
  TranspileOptions options;
  options.pipeline_options.check_at_end = [] { return absl::AbortedError("not today"); };
  EXPECT_EQ(std::string(Transpile(&program, options).status().message()), "not today");
  EXPECT_EQ(program.Proto().SerializeAsString(), bytes);
}

}  // namespace
}  // namespace fixpoint
