// ResNet-20 from C++ to an int8 model: build, minimize, transpile, train, evaluate, freeze,
// lower, predict.
//
//   ./bazelw run --config=opt //examples:resnet20 -- color_digits:2000 5 /tmp/resnet20
//   ./bazelw run --config=opt //examples:resnet20 -- cifar10:FOLDER 30 /tmp/resnet20
//
// Trains on rendered digits or on CIFAR-10, for as many epochs, and writes /tmp/resnet20.pdmodel
// and /tmp/resnet20.pdiparams, which PaddlePaddle and `infer` read, and /tmp/resnet20.lowered.*,
// which runs on integer kernels.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
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

std::string ConvBatchNorm(ProgramBuilder& net, const std::string& x, int filters, int kernel,
                          int stride) {
  Conv2dOptions options;
  options.stride = stride;
  options.padding = kernel / 2;
  options.bias = false;
  return BatchNorm(net, Conv2d(net, x, filters, kernel, options));
}

// He et al., "Deep residual learning for image recognition", 2015, section 4.2: three stages of
// three blocks; where the extent halves, the shortcut is a convolution.
Names BuildResNet20(ProgramBuilder& net) {
  Names names;
  names.image = Data(net, "image", {-1, 3, 32, 32});
  names.label = Data(net, "label", {-1, 1}, VarType::INT64);
  std::string x = Relu(net, ConvBatchNorm(net, names.image, 16, 3, 1));
  for (const int filters : {16, 32, 64}) {
    for (int block = 0; block < 3; ++block) {
      const int stride = filters > 16 && block == 0 ? 2 : 1;
      const std::string hidden = Relu(net, ConvBatchNorm(net, x, filters, 3, stride));
      const std::string residual = ConvBatchNorm(net, hidden, filters, 3, 1);
      const std::string shortcut = stride == 1 ? x : ConvBatchNorm(net, x, filters, 1, stride);
      x = Relu(net, Add(net, shortcut, residual));
    }
  }
  names.logits = Fc(net, GlobalAvgPool2d(net, x), 10);
  names.loss = Mean(net, SoftmaxWithCrossEntropy(net, names.logits, names.label));
  return names;
}

absl::Status Run(const std::string& data, int epochs, const std::string& output) {
  // The network, its gradients and the optimizer of the same paper; then the quantizers.
  Program main = EmptyProgram(2, 6, 2);
  Program startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&main, &startup);
  const Names names = BuildResNet20(net);
  const Optimizer optimizer = Optimizer(Momentum(0.9f), 0.1f).set_l2_decay(1e-4f);
  RETURN_IF_ERROR(optimizer.Minimize(net, names.loss).status());
  TranspileOptions quantize;
  quantize.config.set_target("onednn_int8");
  quantize.startup = &startup;
  RETURN_IF_ERROR(Transpile(&main, quantize).status());

  // Every product of the forward pass is one of integers.
  ASSIGN_OR_RETURN(const DataSource source, ParseDataSource(data));
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> train_set,
                   OpenSamples(source, DataPart::kTraining));
  BatchRunOptions options;
  options.variables = {names.image, names.label, names.loss, names.logits};
  options.backend_options.seed = 1;
  options.batches.batch_size = 64;
  options.batches.seed = 1;
  options.batches.drop_last = true;
  Scope scope;
  RETURN_IF_ERROR(Initialize(startup, &scope, options));
  ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(main, &scope, train_set.get(), options));
  while (trainer.epoch() < epochs) {
    ASSIGN_OR_RETURN(const BatchResult result, trainer.Step());
    if (trainer.step() % 20 == 0) absl::PrintF("step %d: %.4f\n", trainer.step(), *result.loss);
  }

  // How well it does on images that it has not seen; batch norm goes by what training left.
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
  int epochs = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[2], &epochs) || epochs < 1) {
    std::fprintf(stderr, "usage: resnet20 DATA EPOCHS OUTPUT\n");
    return 2;
  }
  const absl::Status status = fixpoint::Run(argv[1], epochs, argv[3]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
