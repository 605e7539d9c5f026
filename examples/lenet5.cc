// LeNet-5 from C++ to an int8 model: build, minimize, transpile, train, evaluate, freeze, lower,
// predict.
//
//   ./bazelw run --config=opt //examples:lenet5 -- digits:6000 /tmp/lenet5
//   ./bazelw run --config=opt //examples:lenet5 -- mnist:FOLDER /tmp/lenet5
//
// Trains on rendered digits or on MNIST, and writes /tmp/lenet5.pdmodel and /tmp/lenet5.pdiparams,
// which PaddlePaddle and `infer` read, and /tmp/lenet5.lowered.*, which runs on integer kernels.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/data/batcher.h"
#include "runtime/data/data_source.h"
#include "runtime/data/sample_set.h"
#include "runtime/inference_model.h"
#include "runtime/predictor.h"
#include "runtime/tensor.h"
#include "runtime/training/evaluator.h"
#include "runtime/training/trainer.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

struct Names {
  std::string image;
  std::string label;
  std::string logits;
  std::string loss;
};

// LeCun et al., "Gradient-based learning applied to document recognition", 1998, with relus and max
// pooling.
Names BuildLeNet5(ProgramBuilder& net) {
  Names names;
  names.image = Data(net, "image", {-1, 1, 28, 28});
  names.label = Data(net, "label", {-1, 1}, VarType::INT64);
  Conv2dOptions padded;
  padded.padding = 2;
  std::string x = MaxPool2d(net, Relu(net, Conv2d(net, names.image, 6, 5, padded)), 2);
  x = MaxPool2d(net, Relu(net, Conv2d(net, x, 16, 5)), 2);
  x = Relu(net, Fc(net, x, 120));
  x = Relu(net, Fc(net, x, 84));
  names.logits = Fc(net, x, 10);
  names.loss = Mean(net, SoftmaxWithCrossEntropy(net, names.logits, names.label));
  return names;
}

absl::Status Run(const std::string& data, const std::string& output) {
  // The network, its gradients and its optimizer; then the quantizers.
  Program main = EmptyProgram(2, 6, 2);
  Program startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&main, &startup);
  const Names names = BuildLeNet5(net);
  RETURN_IF_ERROR(Optimizer(Adam(), 0.001f).Minimize(net, names.loss).status());
  TranspileOptions quantize;
  quantize.config.set_target("onednn_int8");
  quantize.startup = &startup;
  RETURN_IF_ERROR(Transpile(&main, quantize).status());

  // Three epochs: every product of the forward pass is one of integers.
  ASSIGN_OR_RETURN(const DataSource source, ParseDataSource(data));
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> train_set,
                   OpenSamples(source, DataPart::kTraining));
  BatchRunOptions options;
  options.variables = {names.image, names.label, names.loss, names.logits};
  options.backend_options.seed = 1;
  options.batches.batch_size = 64;
  options.batches.seed = 1;
  Scope scope;
  RETURN_IF_ERROR(Initialize(startup, &scope, options));
  ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(main, &scope, train_set.get(), options));
  while (trainer.epoch() < 3) {
    ASSIGN_OR_RETURN(const BatchResult result, trainer.Step());
    if (trainer.step() % 200 == 0) absl::PrintF("step %d: %.4f\n", trainer.step(), *result.loss);
  }

  // How well it does on images that it has not seen.
  ASSIGN_OR_RETURN(const Program test, MakeTestProgram(main));
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> test_set, OpenSamples(source, DataPart::kTest));
  ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::Create(test, &scope, test_set.get(), options));
  ASSIGN_OR_RETURN(const Evaluation evaluation, evaluator.Run());
  absl::PrintF("accuracy %.2f %%\n", 100 * *evaluation.accuracy);

  // The int8 model, as PaddlePaddle reads it.
  FreezeOptions freeze;
  freeze.feeds = {names.image};
  freeze.fetches = {names.logits};
  ASSIGN_OR_RETURN(const FrozenModel model, Freeze(main, scope, freeze));
  RETURN_IF_ERROR(SaveInferenceModel(model.program.Proto(), model.scope, output));
  absl::PrintF("wrote %s.pdmodel and %s.pdiparams: weights of %d bytes, once %d\n", output, output,
               model.weights.code_bytes, model.weights.float_bytes);

  // The same on integer kernels, and what it takes the first image for.
  ASSIGN_OR_RETURN(const LoweredModel integers, Lower(model.program, model.scope));
  const std::string lowered = output + ".lowered";
  RETURN_IF_ERROR(SaveInferenceModel(integers.program.Proto(), integers.scope, lowered));
  ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor, Predictor::Load(lowered));
  BatchOptions in_order;
  in_order.shuffle = false;
  // Values of its batches: the images, and the labels.
  ASSIGN_OR_RETURN(Batcher images, Batcher::Create(test_set.get(), in_order));
  ASSIGN_OR_RETURN(const Batch first, images.Next());
  ASSIGN_OR_RETURN(const std::vector<Tensor> scores, predictor->Run({&first.values[0], 1}));
  const absl::Span<const float> logits = scores[0].data<float>();
  absl::PrintF("wrote %s.pdmodel; a %d is taken for a %d\n", lowered,
               first.values[1].data<int64_t>()[0],
               std::max_element(logits.begin(), logits.end()) - logits.begin());
  return absl::OkStatus();
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: lenet5 DATA OUTPUT\n");
    return 2;
  }
  const absl::Status status = fixpoint::Run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
