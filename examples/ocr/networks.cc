#include "examples/ocr/networks.h"

#include <utility>
#include <vector>

#include "examples/ocr/drawn_samples.h"
#include "examples/ocr/font.h"
#include "examples/ocr/image.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/quantizer_table.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "runtime/training/trainer.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {
namespace ocr {
namespace {

constexpr int kClasses = static_cast<int>(kFont.size()) + 1;
constexpr int64_t kStepsBetweenReports = 50;

std::string NormRelu(ProgramBuilder& net, const std::string& x) {
  return Relu(net, BatchNorm(net, x));
}

// 3 x 3, of the input's size divided by the stride.
std::string Convolution(ProgramBuilder& net, const std::string& x, int filters, int stride = 1,
                        int dilation = 1) {
  Conv2dOptions options;
  options.stride = stride;
  options.padding = dilation;
  options.dilation = dilation;
  options.bias = false;
  return NormRelu(net, Conv2d(net, x, filters, 3, options));
}

Conv2dOptions Doubling() {
  Conv2dOptions options;
  options.stride = 2;
  return options;
}

// As PP-OCR's head of differentiable binarization: two transposed convolutions to full size.
NetworkEnds BuildDetection(ProgramBuilder& net) {
  std::string x = Data(net, kImageField, {-1, kColors, -1, -1});
  const std::string map = Data(net, kMapField, {-1, 1, -1, -1});
  x = Convolution(net, x, 8, 2);
  x = Convolution(net, x, 16, 2);
  x = Convolution(net, x, 24);
  x = Convolution(net, x, 24, 1, 2);
  x = NormRelu(net, Conv2dTranspose(net, x, 12, 2, Doubling()));
  NetworkEnds ends;
  ends.output = Activation(net, Conv2dTranspose(net, x, 1, 2, Doubling()), "sigmoid");
  const std::string error = Add(net, ends.output, Scale(net, map, -1));
  ends.loss = Mean(net, Multiply(net, error, error));
  return ends;
}

NetworkEnds BuildDirection(ProgramBuilder& net) {
  std::string x = Data(net, kImageField, {-1, kColors, kDirectionHeight, kDirectionWidth});
  const std::string label = Data(net, kLabelField, {-1, 1}, VarType::INT64);
  x = Convolution(net, x, 8, 2);
  x = Convolution(net, x, 16, 2);
  x = Convolution(net, x, 32, 2);
  x = Convolution(net, x, 48, 2);
  x = Fc(net, GlobalAvgPool2d(net, x), 2);
  return {Softmax(net, x), Mean(net, SoftmaxWithCrossEntropy(net, x, label))};
}

NetworkEnds BuildRecognition(ProgramBuilder& net) {
  constexpr int kFilters = 32;
  std::string x = Data(net, kImageField, {-1, kColors, kReadHeight, -1});
  const std::string label = Data(net, kLabelField, {-1, kMostCharacters}, VarType::INT32);
  const std::string label_length = Data(net, kLabelLengthField, {-1}, VarType::INT64);
  const std::string steps = Data(net, kStepsField, {-1}, VarType::INT64);
  x = Convolution(net, x, 16, 2);
  x = Convolution(net, x, kFilters, 2);
  x = Convolution(net, x, kFilters);
  x = Convolution(net, x, kFilters);
  // [N,steps,filters * rows]: a column of the features is a step.
  x = Transpose(net, x, {0, 3, 1, 2});
  x = Reshape(net, x, {0, 0, kFilters * static_cast<int>(kReadHeight / kStepWidth)});
  x = Fc(net, Relu(net, Fc(net, x, 96, 2)), kClasses, 2);
  NetworkEnds ends;
  ends.output = Softmax(net, x);
  const std::string loss = net.UniqueName("warpctc");
  net.AppendWithOutput(net.New("warpctc")
                           .Input("Logits", Transpose(net, x, {1, 0, 2}))
                           .Input("Label", label)
                           .Input("LogitsLength", steps)
                           .Input("LabelLength", label_length)
                           .Output("WarpCTCGrad", net.WithoutGradient(loss + ".tmp_1")),
                       "Loss", loss + ".tmp_0");
  ends.loss = Mean(net, loss + ".tmp_0");
  return ends;
}

// What computes the output from the image.
absl::StatusOr<Program> InferenceProgram(const Program& training, const NetworkEnds& ends) {
  const PassTable passes = FreezePasses();
  ASSIGN_OR_RETURN(
      const Pipeline pipeline,
      Pipeline::Parse("strip_training,set_test_mode,prune_to_inference,remove_dead_variables",
                      passes));
  const QuantizerTable quantizers;
  FreezeContext context(quantizers);
  context.feeds = {kImageField};
  context.fetches = {ends.output};
  Program program = training.Clone();
  RETURN_IF_ERROR(pipeline.Run(program, context, {}));
  program.ClearEditLog();
  program.ForgetEdits();
  return program;
}

}  // namespace

const NetworkPlan& DetectionPlan() {
  static const NetworkPlan plan = {"detection", BuildDetection, DetectionSamples, 150, 8, 0.01f};
  return plan;
}

const NetworkPlan& DirectionPlan() {
  static const NetworkPlan plan = {"direction", BuildDirection, DirectionSamples, 500, 32, 0.004f};
  return plan;
}

const NetworkPlan& RecognitionPlan() {
  static const NetworkPlan plan = {"recognition", BuildRecognition, RecognitionSamples, 500, 32,
                                   0.004f};
  return plan;
}

absl::StatusOr<InferenceModel> TrainNetwork(
    const NetworkPlan& plan, const std::function<void(int64_t step, double loss)>& progress) {
  Program main = EmptyProgram(2, 6, 2);
  Program startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&main, &startup);
  const NetworkEnds ends = plan.build(net);
  RETURN_IF_ERROR(Optimizer(Adam(), plan.rate).Minimize(net, ends.loss).status());

  const std::unique_ptr<SampleSet> samples = plan.samples(plan.steps * plan.batch_size, 1);
  BatchRunOptions options;
  options.variables.loss = ends.loss;
  options.backend_options.seed = 1;
  options.batches.batch_size = plan.batch_size;
  options.batches.shuffle = false;
  InferenceModel model;
  Scope& scope = model.parameters;
  RETURN_IF_ERROR(Initialize(startup, &scope, options));
  ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(main, &scope, samples.get(), options));
  while (trainer.step() < plan.steps) {
    ASSIGN_OR_RETURN(const BatchResult result, trainer.Step());
    if (trainer.step() % kStepsBetweenReports == 0) progress(trainer.step(), *result.loss);
  }
  ASSIGN_OR_RETURN(model.program, InferenceProgram(main, ends));
  return model;
}

}  // namespace ocr
}  // namespace fixpoint
