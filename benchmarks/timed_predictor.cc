#include "benchmarks/timed_predictor.h"

#include <glog/logging.h>

#include <utility>

#include "benchmarks/networks.h"
#include "benchmarks/timed_trainer.h"
#include "runtime/random.h"
#include "transpiler/freeze.h"
#include "transpiler/lower.h"
#include "transpiler/quantize_transpiler.h"
#include "transpiler/test_program.h"

namespace fixpoint {
namespace {

constexpr int64_t kTrainingBatch = 4;
constexpr int kTrainingSteps = 2;

// Normal numbers.
Tensor RandomImages(std::vector<int64_t> dims) {
  Tensor images = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, 0, 0);
  for (int64_t i = 0; i < images.size(); ++i) {
    images.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
  }
  return images;
}

std::unique_ptr<Predictor> Made(absl::StatusOr<std::unique_ptr<Predictor>> predictor) {
  CHECK(predictor.ok()) << predictor.status();
  return *std::move(predictor);
}

}  // namespace

TimedPredictor::TimedPredictor(const std::string& name, Form form, int64_t batch, bool profile) {
  Network network =
      BuildNetwork(name, kTrainingBatch, Training::kMomentum, name == "mobilenet_v1" ? 224 : 0);
  std::vector<int64_t> dims = network.image_dims;
  dims[0] = batch;
  inputs_.push_back(RandomImages(std::move(dims)));

  PredictorOptions options;
  options.profile = profile;
  options.inputs = {network.image};
  options.outputs = {network.scores};
  TimedTrainer trainer(std::move(network), form != Form::kFloat);
  for (int step = 0; step < kTrainingSteps; ++step) trainer.Step();
  TrainedNetwork trained = trainer.Take();
  if (form != Form::kLowered) {
    absl::StatusOr<Program> test = MakeTestProgram(trained.main);
    CHECK(test.ok()) << test.status();
    predictor_ = Made(Predictor::Create(*std::move(test), std::move(trained.scope), options));
    return;
  }
  FreezeOptions freeze;
  freeze.feeds = options.inputs;
  freeze.fetches = options.outputs;
  absl::StatusOr<FrozenModel> portable = Freeze(trained.main, trained.scope, freeze);
  CHECK(portable.ok()) << portable.status();
  absl::StatusOr<LoweredModel> lowered = Lower(portable->program, portable->scope);
  CHECK(lowered.ok()) << lowered.status();
  predictor_ =
      Made(Predictor::Create(std::move(lowered->program), std::move(lowered->scope), options));
}

double TimedPredictor::Run() {
  const double begin = CpuSeconds();
  const absl::Status status = predictor_->Run(inputs_, &outputs_);
  CHECK(status.ok()) << status;
  return CpuSeconds() - begin;
}

}  // namespace fixpoint
