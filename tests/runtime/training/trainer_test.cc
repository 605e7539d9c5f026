// Steps of training, and what stops it, on each backend.

#include "runtime/training/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/program/program.h"
#include "runtime/backends.h"
#include "runtime/data/image_samples.h"
#include "runtime/training/evaluator.h"
#include "runtime/training/network_variables.h"
#include "tests/runtime/training/small_network.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/watched_samples.h"

namespace fixpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Trainers : public testing::TestWithParam<BackendKind> {};

INSTANTIATE_TEST_SUITE_P(Backends, Trainers,
                         testing::Values(BackendKind::kOneDnn, BackendKind::kReference),
                         [](const auto& info) { return std::string(BackendName(info.param)); });

BatchRunOptions On(BackendKind backend) {
  BatchRunOptions options;
  options.backend = backend;
  return options;
}

BatchRunOptions OptionsOf(const Program& program, BackendKind backend, uint64_t seed = 1) {
  BatchRunOptions options = On(backend);
  options.variables = *FindNetworkVariables(program);
  options.batches.batch_size = 16;
  options.batches.seed = seed;
  options.backend_options.seed = seed;
  return options;
}

// The scope after some steps.
std::string Trained(BackendKind backend, uint64_t seed, int64_t steps) {
  const SmallNetwork net;
  const ImageSamples set = BrighterPixelSet(40);
  const BatchRunOptions options = OptionsOf(net.main, backend, seed);
  Scope scope;
  EXPECT_EQ(Initialize(net.startup, &scope, options), absl::OkStatus());
  Trainer trainer = *Trainer::Create(net.main, &scope, &set, options);
  while (trainer.step() < steps) EXPECT_EQ(trainer.Step().status(), absl::OkStatus());
  return PrintParameters(scope);
}

TEST_P(Trainers, LearnsWhatIsMeasuredOnATestSet) {
  const SmallNetwork net;
  const ImageSamples training_set = BrighterPixelSet(200);
  const ImageSamples test_set = BrighterPixelSet(256);
  const BatchRunOptions options = OptionsOf(net.main, GetParam());
  BatchRunOptions test_options = options;
  test_options.variables.scores = FindNetworkVariables(net.test)->scores;
  test_options.variables.loss = "mean_0.tmp_0";
  Scope scope;
  ASSERT_EQ(Initialize(net.startup, &scope, options), absl::OkStatus());
  Trainer trainer = *Trainer::Create(net.main, &scope, &training_set, options);
  EXPECT_EQ(trainer.StepsPerEpoch(), 13);

  Evaluator evaluator = *Evaluator::Create(net.test, &scope, &test_set, test_options);
  const Evaluation before = *evaluator.Run();
  const BatchResult first = *trainer.Step();
  EXPECT_EQ(first.samples, 16);
  while (trainer.epoch() < 20) ASSERT_EQ(trainer.Step().status(), absl::OkStatus());
  EXPECT_EQ(trainer.step(), 260);
  const Evaluation after = *evaluator.Run();
  EXPECT_EQ(after.samples, 256);
  EXPECT_LT(*after.loss, *before.loss / 2);
  EXPECT_GT(*after.accuracy, 0.9);
}

TEST_P(Trainers, AnEvaluationSaysHowFarItMayBeOff) {
  const SmallNetwork net;
  const ImageSamples set = BrighterPixelSet(60);
  BatchRunOptions options = OptionsOf(net.main, GetParam());
  Scope scope;
  ASSERT_EQ(Initialize(net.startup, &scope, options), absl::OkStatus());
  options.variables.scores = FindNetworkVariables(net.test)->scores;
  options.variables.loss = "mean_0.tmp_0";
  options.variables.metrics = {options.variables.loss};
  options.batches.batch_size = 1;
  options.batches.shuffle = false;
  BatchRunner runner = *BatchRunner::Create(net.test, &scope, &set, options);
  std::vector<double> losses;
  for (int i = 0; i < 60; ++i) losses.push_back(*runner.Run(i, /*step=*/0)->loss);
  const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / 60;
  double squares = 0;
  for (const double loss : losses) squares += (loss - mean) * (loss - mean);
  const double expected = std::sqrt(squares / 59 / 60);

  Evaluation evaluation = *Evaluator::Create(net.test, &scope, &set, options)->Run();
  EXPECT_NEAR(*evaluation.loss_error, expected, 1e-9);
  EXPECT_EQ(*evaluation.metric_errors[0], *evaluation.loss_error);
  const double share = *evaluation.accuracy;
  EXPECT_DOUBLE_EQ(*evaluation.accuracy_error, std::sqrt(share * (1 - share) / 60));
  options.batches.batch_size = 7;  // the last batch has 4
  evaluation = *Evaluator::Create(net.test, &scope, &set, options)->Run();
  EXPECT_GT(*evaluation.loss_error, expected / 2);
  EXPECT_LT(*evaluation.loss_error, expected * 2);
  options.batches.batch_size = 60;
  evaluation = *Evaluator::Create(net.test, &scope, &set, options)->Run();
  EXPECT_EQ(evaluation.loss_error, std::nullopt) << "one batch tells nothing";
}

TEST_P(Trainers, TheSameSeedGivesTheSameBits) {
  EXPECT_EQ(Trained(GetParam(), 1, 20), Trained(GetParam(), 1, 20));
  EXPECT_NE(Trained(GetParam(), 1, 20), Trained(GetParam(), 2, 20));
}

TEST_P(Trainers, GoesOnWhereAnotherStopped) {
  const SmallNetwork net;
  const ImageSamples set = BrighterPixelSet(40);
  const BatchRunOptions options = OptionsOf(net.main, GetParam());
  Scope scope;
  ASSERT_EQ(Initialize(net.startup, &scope, options), absl::OkStatus());
  for (int64_t stop : {7, 13, 20}) {
    const int64_t from = stop == 7 ? 0 : stop == 13 ? 7 : 13;
    Trainer trainer = *Trainer::Create(net.main, &scope, &set, options);
    ASSERT_EQ(trainer.GoTo(from), absl::OkStatus());
    while (trainer.step() < stop) ASSERT_EQ(trainer.Step().status(), absl::OkStatus());
  }
  EXPECT_EQ(PrintParameters(scope), Trained(GetParam(), 1, 20));
}

// What a test program writes: a range that it finds in each batch, state that it counts on, a
// parameter, and one that the scope does not have.
constexpr char kWritesState[] = R"(
  var image f32[-1,2]
  var image.q f32[-1,2]
  var range f32[1] persistable
  var count f32[1] persistable
  var fc_0.b_0 f32[8] persistable
  var made f32[1] persistable
  fake_quantize_abs_max(X=image) -> (Out=image.q, OutScale=range) {bit_length=8}
  increment(X=count) -> (Out=count) {step=1.0}
  scale(X=fc_0.b_0) -> (Out=fc_0.b_0) {scale=2.0}
  assign(X=range) -> (Out=made)
)";

TEST_P(Trainers, AnEvaluationLeavesTheScopeAsItWas) {
  const Program program = ParsedProgram(kWritesState);
  const ImageSamples set = BrighterPixelSet(40);
  BatchRunOptions options = On(GetParam());
  options.variables.images = "image";
  options.variables.scores = "image.q";
  options.batches.batch_size = 16;
  Scope scope;
  scope.Set("range", Tensor::FromValues<float>({1}, {5}));
  scope.Set("count", Tensor::FromValues<float>({1}, {3}));
  scope.Set("fc_0.b_0", Tensor::FromValues<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const std::string before = PrintParameters(scope);
  Evaluator evaluator = *Evaluator::Create(program, &scope, &set, options);
  for (int i = 0; i < 2; ++i) {
    const auto evaluation = evaluator.Run();
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_EQ(evaluation->samples, 40);
    EXPECT_EQ(PrintParameters(scope), before);
  }
}

TEST_P(Trainers, EachBatchIsReadOnce) {
  const SmallNetwork net;
  const ImageSamples set = BrighterPixelSet(40);
  int reads = 0;
  const WatchedSamples watched(&set, [&](absl::Span<const int64_t>) {
    ++reads;
    return absl::OkStatus();
  });
  const BatchRunOptions options = OptionsOf(net.main, GetParam());
  Scope scope;
  ASSERT_EQ(Initialize(net.startup, &scope, options), absl::OkStatus());
  {
    Trainer trainer = *Trainer::Create(net.main, &scope, &watched, options);
    trainer.EndAt(5);
    while (trainer.step() < 5) ASSERT_EQ(trainer.Step().status(), absl::OkStatus());
  }
  EXPECT_EQ(reads, 5);
  BatchRunOptions of_test = options;
  of_test.variables = *FindNetworkVariables(net.test);
  {
    Evaluator evaluator = *Evaluator::Create(net.test, &scope, &watched, of_test);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(evaluator.Run().status(), absl::OkStatus());
  }
  EXPECT_EQ(reads, 5 + 2 * 3);
}

TEST_P(Trainers, ARunThatIsEvaluatedOnTheWayEqualsOneThatIsNot) {
  const SmallNetwork net;
  const Program evaluated = ParsedProgram(kWritesState);
  const ImageSamples set = BrighterPixelSet(40);
  const BatchRunOptions options = OptionsOf(net.main, GetParam());
  BatchRunOptions of_evaluated = options;
  of_evaluated.variables = {"image", "", "", "image.q"};
  Scope scope;
  ASSERT_EQ(Initialize(net.startup, &scope, options), absl::OkStatus());
  Trainer trainer = *Trainer::Create(net.main, &scope, &set, options);
  scope.Set("range", Tensor::FromValues<float>({1}, {5}));
  scope.Set("count", Tensor::FromValues<float>({1}, {3}));
  Evaluator evaluator = *Evaluator::Create(evaluated, &scope, &set, of_evaluated);
  while (trainer.step() < 20) {
    ASSERT_EQ(trainer.Step().status(), absl::OkStatus());
    ASSERT_EQ(evaluator.Run().status(), absl::OkStatus());
  }
  EXPECT_EQ(PrintParameters(scope),
            absl::StrCat("count f32[1] 3\n", Trained(GetParam(), 1, 20), "range f32[1] 5\n"));
}

TEST_P(Trainers, GivesWhatIsAskedForBesideTheLoss) {
  const SmallNetwork net;
  const ImageSamples set = BrighterPixelSet(16);
  const BatchRunOptions options = OptionsOf(net.main, GetParam());
  Scope scope;
  ASSERT_EQ(Initialize(net.startup, &scope, options), absl::OkStatus());
  Trainer trainer = *Trainer::Create(net.main, &scope, &set, options);
  const auto result = trainer.Step({"fc_0.w_0@GRAD", "label"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->fetched[0].dims(), std::vector<int64_t>({2, 8}));
  EXPECT_EQ(result->fetched[1].dims(), std::vector<int64_t>({16, 1}));
}

// w goes down the gradient of log(w), until it has no logarithm.
constexpr char kFallsIntoNan[] = R"(
  var x f32[-1,2]
  var w f32[1] persistable
  var learning_rate f32[1] persistable
  var logs f32[1]
  var loss f32[1]
  var loss@GRAD f32[1]
  var logs@GRAD f32[1]
  var w@GRAD f32[1]
  log(X=w) -> (Out=logs)
  mean(X=logs) -> (Out=loss)
  fill_constant() -> (Out=loss@GRAD) {shape=[1L], value=1.0, dtype=5, op_role=257}
  mean_grad(X=logs, Out@GRAD=loss@GRAD) -> (X@GRAD=logs@GRAD) {op_role=1}
  log_grad(X=w, Out@GRAD=logs@GRAD) -> (X@GRAD=w@GRAD) {op_role=1}
  sgd(Param=w, Grad=w@GRAD, LearningRate=learning_rate) -> (ParamOut=w) {op_role=2}
)";

std::string ErrorOfTraining(BackendKind backend, const std::string& program_text,
                            const char* values) {
  const Program program = ParsedProgram(program_text);
  Scope scope = *ParseParameters(values, "values");
  const ImageSamples set = BrighterPixelSet(16);
  BatchRunOptions options = On(backend);
  options.variables = {"x", "", "loss", ""};
  Trainer trainer = *Trainer::Create(program, &scope, &set, options);
  for (int i = 0; i < 1000; ++i) {
    const absl::Status status = trainer.Step().status();
    if (!status.ok()) return status.ToString();
  }
  return "none";
}

TEST_P(Trainers, NamesTheOpThatMadeTheLossNotFinite) {
  EXPECT_THAT(
      ErrorOfTraining(GetParam(), kFallsIntoNan, "w f32[1] 1\nlearning_rate f32[1] 0.3\n"),
      AllOf(HasSubstr("FAILED_PRECONDITION: step 4: the loss \"loss\" is nan; the first value that "
                      "is not finite is in this step: block 0, op 0 (log): element 0 of "),
            HasSubstr("\"logs\""), HasSubstr("is nan; want finite numbers")));
}

// The executor does not run ops that nothing needs, so they do not affect the search.
TEST(Trainer, DoesNotTakeAnotherErrorForIt) {
  EXPECT_THAT(ErrorOfTraining(BackendKind::kOneDnn,
                              absl::StrCat(kFallsIntoNan, "  relu(X=nothing) -> (Out=dead)\n"),
                              "w f32[1] 1\nlearning_rate f32[1] 0.3\n"),
              HasSubstr("not finite is in this step: block 0, op 0 (log): element 0 of "));
}

TEST_P(Trainers, NamesItHoweverManyStepsThatTook) {
  EXPECT_THAT(
      ErrorOfTraining(GetParam(), kFallsIntoNan, "w f32[1] 1\nlearning_rate f32[1] 0.001\n"),
      HasSubstr("step 504: the loss \"loss\" is nan; the first value that is not finite is "
                "in this step: block 0, op 0 (log)"));
}

TEST_P(Trainers, AnUpdateThatOverflowsIsNamedThoughTheLossWasStillFinite) {
  EXPECT_THAT(
      ErrorOfTraining(GetParam(), kFallsIntoNan, "w f32[1] 0.01\nlearning_rate f32[1] 3e38\n"),
      AllOf(HasSubstr("FAILED_PRECONDITION: step 2: the loss \"loss\" is nan; the first value that "
                      "is not finite is in step 1: block 0, op 5 (sgd): element 0 of "),
            HasSubstr("\"w\""), HasSubstr("is -inf; want finite numbers")));
}

TEST_P(Trainers, WantsALossAndOneNumber) {
  const ImageSamples set = BrighterPixelSet(16);
  Scope scope;
  BatchRunOptions options = On(GetParam());
  options.variables.images = "x";
  const Program program = ParsedProgram("var x f32[-1,2]\nvar y f32[-1,2]\nrelu(X=x) -> (Out=y)\n");
  EXPECT_EQ(Trainer::Create(program, &scope, &set, options).status(),
            absl::InvalidArgumentError("the program has no backward pass that says what the loss "
                                       "is; want a training program"));
  options.variables.loss = "y";
  EXPECT_EQ(Trainer::Create(program, &scope, &set, options)->Step().status(),
            absl::InvalidArgumentError(
                "step 1: the loss \"y\" is FP32 [1, 2]; want one FP32 or FP64 number"));
}

TEST_P(Trainers, ImagesFitWhatTheProgramDeclares) {
  const ImageSamples set = BrighterPixelSet(16);
  Scope scope;
  BatchRunOptions options = On(GetParam());
  options.variables = {"x", "", "x", ""};
  const Program program = ParsedProgram("var x f32[-1,3]\n");
  EXPECT_EQ(
      Trainer::Create(program, &scope, &set, options).status(),
      absl::InvalidArgumentError("samples of \"images\" are fed as [-1, 1, 1, 2]; the program "
                                 "declares \"x\" as [-1, 3], where -1 is any extent"));
}

}  // namespace
}  // namespace fixpoint
