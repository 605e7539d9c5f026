#include "benchmarks/inference_form.h"

#include <glog/logging.h>

#include <utility>

#include "absl/status/statusor.h"
#include "benchmarks/timed_trainer.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"

namespace fixpoint {
namespace {

constexpr int64_t kTrainingBatch = 4;
constexpr int kTrainingSteps = 2;

TrainedAs TrainedFor(Form form) {
  switch (form) {
    case Form::kFloat:
      return TrainedAs::kFloat;
    case Form::kSimulated:
    case Form::kLowered:
      return TrainedAs::kQuantized;
    case Form::kLoweredWithIntegerBiases:
      break;
  }
  return TrainedAs::kQuantizedWithIntegerBiases;
}

}  // namespace

InferenceForm MakeInferenceForm(const std::string& name, Form form,
                                AfterConvolution after_convolution) {
  Network network = BuildNetwork(name, kTrainingBatch, Training::kMomentum,
                                 name == "mobilenet_v1" ? 224 : 0, after_convolution);
  const std::string image = network.image;
  const std::string scores = network.scores;
  std::vector<int64_t> dims = network.image_dims;
  dims[0] = 1;
  TimedTrainer trainer(std::move(network), TrainedFor(form));
  for (int step = 0; step < kTrainingSteps; ++step) trainer.Step();
  TrainedNetwork trained = trainer.Take();
  if (form == Form::kFloat || form == Form::kSimulated) {
    absl::StatusOr<Program> test = MakeTestProgram(trained.main);
    CHECK(test.ok()) << test.status();
    return {*std::move(test), std::move(trained.scope), image, dims, scores};
  }
  FreezeOptions freeze;
  freeze.feeds = {image};
  freeze.fetches = {scores};
  absl::StatusOr<FrozenModel> portable = Freeze(trained.main, trained.scope, freeze);
  CHECK(portable.ok()) << portable.status();
  absl::StatusOr<LoweredModel> lowered = Lower(portable->program, portable->scope);
  CHECK(lowered.ok()) << lowered.status();
  return {std::move(lowered->program), std::move(lowered->scope), image, dims, scores};
}

}  // namespace fixpoint
