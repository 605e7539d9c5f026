#include "benchmarks/timed_predictor.h"

#include <glog/logging.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/clock.h"
#include "runtime/random.h"

namespace fixpoint {
namespace {

// Normal numbers.
Tensor RandomImages(std::vector<int64_t> dims) {
  Tensor images = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, 0, 0);
  for (int64_t i = 0; i < images.size(); ++i) {
    images.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
  }
  return images;
}

}  // namespace

TimedPredictor::TimedPredictor(const std::string& network, Form form, int64_t batch, bool profile,
                               int threads)
    : TimedPredictor(MakeInferenceForm(network, form), batch, profile, threads) {}

TimedPredictor::TimedPredictor(InferenceForm made, int64_t batch, bool profile, int threads) {
  made.image_dims[0] = batch;
  inputs_.push_back(RandomImages(made.image_dims));
  PredictorOptions options;
  options.profile = profile;
  options.threads = threads;
  options.inputs = {made.image};
  options.outputs = {made.scores};
  absl::StatusOr<std::unique_ptr<Predictor>> predictor =
      Predictor::Create(std::move(made.program), std::move(made.scope), options);
  CHECK(predictor.ok()) << predictor.status();
  predictor_ = *std::move(predictor);
}

double TimedPredictor::Run() {
  const double begin = CpuSeconds();
  const absl::Status status = predictor_->Run(inputs_, &outputs_);
  CHECK(status.ok()) << status;
  return CpuSeconds() - begin;
}

}  // namespace fixpoint
