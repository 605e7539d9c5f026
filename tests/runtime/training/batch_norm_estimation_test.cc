// The statistics of batch norm as averages over batches, on each backend.

#include "runtime/training/batch_norm_estimation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/program/program.h"
#include "runtime/backends.h"
#include "runtime/data/image_samples.h"
#include "runtime/scope.h"
#include "runtime/training/batch_runner.h"
#include "tests/runtime/training/small_network.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

// With a momentum of 0 a run leaves the statistics of its batch. `counter` stands for what else a
// run changes.
constexpr char kNetwork[] = R"(
  var image f32[-1,2]
  var label i64[-1,1]
  var y f32[-1,2]
  var loss f32[1]
  var scale f32[2] persistable
  var bias f32[2] persistable
  var mean f32[2] persistable
  var variance f32[2] persistable
  var saved_mean f32[2]
  var saved_variance f32[2]
  var counter f32[1] persistable
  increment(X=counter) -> (Out=counter) {step=1.0}
  batch_norm(X=image, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (Y=y, MeanOut=mean, VarianceOut=variance, SavedMean=saved_mean, SavedVariance=saved_variance) {momentum=0.0}
  mean(X=y) -> (Out=loss)
)";
constexpr char kParameters[] =
    "scale f32[2] 1 2\nbias f32[2] 0 1\nmean f32[2] 7 7\nvariance f32[2] 5 5\ncounter f32[1] 3\n";

class Estimation : public testing::TestWithParam<BackendKind> {
 protected:
  Estimation() {
    options_.backend = GetParam();
    options_.variables.images = "image";
    options_.variables.labels = "label";
    options_.variables.loss = "loss";
    options_.batches.batch_size = 16;
    scope_ = *ParseParameters(kParameters, "parameters");
  }
  std::vector<float> Held(const std::string& name) const {
    const auto elements = (*scope_.Find(name))->data<float>();
    return {elements.begin(), elements.end()};
  }

  const ImageSamples set_ = BrighterPixelSet(48);
  BatchRunOptions options_;
  Scope scope_;
};

INSTANTIATE_TEST_SUITE_P(Backends, Estimation,
                         testing::Values(BackendKind::kOneDnn, BackendKind::kReference),
                         [](const auto& info) { return std::string(BackendName(info.param)); });

TEST_P(Estimation, AveragesOverBatchesAndChangesNothingElse) {
  const Program program = ParsedProgram(kNetwork);
  Scope of_batches = *ParseParameters(kParameters, "parameters");
  BatchRunner runner = *BatchRunner::Create(program, &of_batches, &set_, options_);
  double mean = 0;
  double variance = 0;
  for (int batch = 0; batch < 2; ++batch) {
    ASSERT_TRUE(runner.Run(batch, batch).ok());
    mean += (*of_batches.Find("mean"))->data<float>()[1] / 2;
    variance += (*of_batches.Find("variance"))->data<float>()[1] / 2;
  }
  const absl::StatusOr<int> norms = EstimateBatchNorm(program, 2, &set_, options_, &scope_);
  ASSERT_TRUE(norms.ok()) << norms.status();
  EXPECT_EQ(*norms, 1);
  EXPECT_NEAR(Held("mean")[1], mean, 1e-6);
  EXPECT_NEAR(Held("variance")[1], variance, 1e-5);
  EXPECT_EQ(Held("counter")[0], 3);
  EXPECT_EQ(Held("scale")[1], 2);
}

TEST_P(Estimation, WantsABatchNormThatGoesByItsBatch) {
  std::string text = kNetwork;
  text.replace(text.find("momentum=0.0"), 12, "is_test=true");
  EXPECT_THAT(EstimateBatchNorm(ParsedProgram(text), 2, &set_, options_, &scope_).status(),
              testing::Property(&absl::Status::message,
                                HasSubstr("no batch norm that goes by the statistics of its")));
  EXPECT_EQ(Held("mean")[0], 7);
}

TEST_P(Estimation, WantsFiniteStatistics) {
  std::string text = kNetwork;
  text.replace(text.find("batch_norm(X=image"), 18,
               "scale(X=image) -> (Out=y) {scale=3e38, bias=3e38}\n  batch_norm(X=y");
  text.replace(text.find("(Y=y, "), 6, "(Y=z, ");
  text.replace(text.find("mean(X=y)"), 9, "mean(X=z)");
  text.replace(text.find("  var loss"), 10, "  var z f32[-1,2]\n  var loss");
  EXPECT_THAT(EstimateBatchNorm(ParsedProgram(text), 1, &set_, options_, &scope_).status(),
              testing::Property(&absl::Status::message, HasSubstr("is not finite")));
  EXPECT_EQ(Held("mean")[0], 7);
}

}  // namespace
}  // namespace fixpoint
