// LeNet-5 is trained on MNIST briefly with each way to find ranges of activations: the integer
// program predicts what the simulation predicts for all 10,000 images.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "benchmarks/networks.h"
#include "proto/program/program.h"
#include "runtime/data/batcher.h"
#include "runtime/data/data_source.h"
#include "runtime/executor/executor.h"
#include "runtime/predictor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/reference_data.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using executor::Executor;

constexpr int kSteps = 200;
constexpr int64_t kBatch = 100;

struct Case {
  const char* name;
  const char* activations;
};

class MnistPredictions : public testing::TestWithParam<Case> {
 protected:
  // Trains what is quantized so.
  void Train(const std::string& folder) {
    TranspileOptions options;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("target: 'onednn_int8' activations { ", GetParam().activations, " }"),
        &options.config));
    options.startup = &network_.startup;
    const auto transpiled = Transpile(&network_.main, options);
    ASSERT_TRUE(transpiled.ok()) << transpiled.status();
    ASSERT_TRUE((*Executor::Create(network_.startup, &scope_, {/*seed=*/1}))->Run({}, {}, 0).ok());
    const auto set = OpenSamples(DataSetName{DataSetKind::kMnist, folder}, DataPart::kTraining);
    ASSERT_TRUE(set.ok()) << set.status();
    BatchOptions batches;
    batches.batch_size = kBatch;
    auto batcher = Batcher::Create(set->get(), batches);
    const auto trained = Executor::Create(network_.main, &scope_);
    for (uint32_t step = 0; step < kSteps; ++step) {
      const auto batch = batcher->Next();
      const Feed feeds[] = {{network_.image, &batch->values[0]},
                            {network_.label, &batch->values[1]}};
      ASSERT_TRUE((*trained)->Run(feeds, {network_.loss}, step).ok());
    }
  }

  std::unique_ptr<Predictor> MakePredictor() {
    FreezeOptions options;
    options.feeds = {network_.image};
    options.fetches = {network_.scores};
    const auto portable = Freeze(network_.main, scope_, options);
    EXPECT_TRUE(portable.ok()) << portable.status();
    auto lowered = Lower(portable->program, portable->scope);
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    auto made = Predictor::Create(std::move(lowered->program), std::move(lowered->scope));
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(*made);
  }

  Network network_ = BuildNetwork("lenet5", kBatch, Training::kAdam);
  Scope scope_;
};

int64_t LargestOf(const Tensor& scores, int64_t image) {
  const int64_t classes = scores.dims()[1];
  const auto row = scores.data<float>().subspan(image * classes, classes);
  return std::max_element(row.begin(), row.end()) - row.begin();
}

TEST_P(MnistPredictions, AreThoseOfTheSimulation) {
  SKIP_WITHOUT_REFERENCE_PATH("data/mnist");
  const std::string folder = ReferencePath("data/mnist");
  ASSERT_NO_FATAL_FAILURE(Train(folder));
  const Program test = MakeTestProgram(network_.main).value();
  const auto simulation = Executor::Create(test, &scope_);
  const auto predictor = MakePredictor();
  const auto set = OpenSamples(DataSetName{DataSetKind::kMnist, folder}, DataPart::kTest);
  BatchOptions in_order;
  in_order.batch_size = kBatch;
  in_order.shuffle = false;
  auto batcher = Batcher::Create(set->get(), in_order);
  int64_t images = 0;
  int64_t other_predictions = 0;
  int64_t other_scores = 0;
  int64_t correct = 0;
  for (int64_t i = 0; i < batcher->BatchesPerEpoch(); ++i) {
    const auto batch = batcher->Next();
    const Feed feeds[] = {{network_.image, &batch->values[0]}};
    const auto simulated = (*simulation)->Run(feeds, {network_.scores}, 0);
    const auto predicted = predictor->Run({&batch->values[0], 1});
    ASSERT_TRUE(simulated.ok() && predicted.ok()) << simulated.status() << predicted.status();
    other_scores += (*simulated)[0].bytes() != (*predicted)[0].bytes();
    for (int64_t image = 0; image < kBatch; ++image, ++images) {
      const int64_t prediction = LargestOf((*predicted)[0], image);
      other_predictions += prediction != LargestOf((*simulated)[0], image);
      correct += prediction == batch->values[1].data<int64_t>()[image];
    }
  }
  EXPECT_EQ(images, 10000);
  EXPECT_EQ(other_predictions, 0);
  EXPECT_EQ(other_scores, 0);
  EXPECT_GT(correct, 9000);
}

INSTANTIATE_TEST_SUITE_P(Ranges, MnistPredictions,
                         testing::Values(Case{"MovingAverage",
                                              "quantizer: 'moving_average_abs_max'"},
                                         Case{"LargestOfAWindow", "quantizer: 'range_abs_max'"},
                                         Case{"MeanOfAWindow", "quantizer: 'window_mean_abs_max'"},
                                         Case{"Learned", "quantizer: 'lsq' form: FUSED"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
