// A network is quantized, trained, made a test program and frozen; what is frozen computes what the
// test program computes, bit for bit.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/program/program.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint::reference {
namespace {

constexpr int kBatch = 8;

// A convolution, a pooling and a product over images of 6 x 6, and the programs that train it.
struct Network {
  explicit Network(Program empty) : main(std::move(empty)), startup(main.Clone()) {
    ProgramBuilder net(&main, &startup);
    const std::string image = Data(net, "image", {-1, 1, 6, 6});
    const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
    const std::string features = MaxPool2d(net, Relu(net, Conv2d(net, image, 4, 3)), 2);
    logits = Fc(net, features, 3);
    loss = Mean(net, SoftmaxWithCrossEntropy(net, logits, label));
    const auto minimized = Optimizer(Adam(), 0.01f).Minimize(net, loss);
    EXPECT_TRUE(minimized.ok()) << minimized.status();
  }

  Program main;
  Program startup;
  std::string logits;
  std::string loss;
};

void Feed(Scope* scope) {
  const RandomStream random(1, 0, 0);
  Tensor image = *Tensor::Allocate(VarType::FP32, {kBatch, 1, 6, 6});
  for (int64_t i = 0; i < image.size(); ++i) {
    image.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
  }
  Tensor label = *Tensor::Allocate(VarType::INT64, {kBatch, 1});
  for (int64_t i = 0; i < label.size(); ++i) label.mutable_data<int64_t>()[i] = i % 3;
  scope->Set("image", std::move(image));
  scope->Set("label", std::move(label));
}

std::vector<float> Fetch(const Program& program, Scope* scope, const std::string& name) {
  absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, scope);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  if (!interpreter.ok()) return {};
  const auto fetched = interpreter->Run({}, {name}, 0);
  EXPECT_TRUE(fetched.ok()) << fetched.status();
  if (!fetched.ok()) return {};
  const auto values = fetched->front().data<float>();
  return {values.begin(), values.end()};
}

struct Quantization {
  const char* name;
  int major;  // of the release
  int minor;
  const char* target;
  const char* activations;
  const char* weights;
  QuantSpec::Form form = QuantSpec::SEPARATE;
  bool is_scheduled = false;
};

class QuantizedChain : public testing::TestWithParam<Quantization> {};

TEST_P(QuantizedChain, TrainsAndFreezesToTheSameValues) {
  Network network(EmptyProgram(GetParam().major, GetParam().minor));
  TranspileOptions options;
  options.config.set_target(GetParam().target);
  options.config.mutable_activations()->set_quantizer(GetParam().activations);
  options.config.mutable_weights()->set_quantizer(GetParam().weights);
  options.config.mutable_activations()->set_form(GetParam().form);
  options.config.mutable_weights()->set_form(GetParam().form);
  if (GetParam().is_scheduled) {
    options.config.mutable_schedule()->set_quantize_from_step(5);
    options.config.mutable_schedule()->set_freeze_scales_from_step(15);
  }
  options.startup = &network.startup;
  const auto transpiled = Transpile(&network.main, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  ASSERT_EQ(transpiled->left_alone, "");

  Scope scope;
  Feed(&scope);
  ASSERT_TRUE(Interpreter::Create(network.startup, &scope)->Run({}, {}, 0).ok());
  const float first = Fetch(network.main, &scope, network.loss).at(0);
  for (int step = 0; step < 20; ++step) Fetch(network.main, &scope, network.loss);
  EXPECT_LT(Fetch(network.main, &scope, network.loss).at(0), first);

  const absl::StatusOr<Program> test_program = MakeTestProgram(network.main);
  ASSERT_TRUE(test_program.ok()) << test_program.status();
  const std::vector<float> simulated = Fetch(*test_program, &scope, network.logits);
  FreezeOptions freeze;
  freeze.fetches = {network.logits};
  absl::StatusOr<FrozenModel> frozen = Freeze(network.main, scope, freeze);
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  Feed(&frozen->scope);
  EXPECT_EQ(Fetch(frozen->program, &frozen->scope, network.logits), simulated);
  EXPECT_EQ(simulated.size(), kBatch * 3);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, QuantizedChain,
    testing::Values(
        Quantization{"MovingAverage", 2, 6, "paddle_2_6", "moving_average_abs_max",
                     "channel_wise_abs_max"},
        Quantization{"PerTensor", 2, 6, "paddle_2_6", "moving_average_abs_max", "abs_max"},
        Quantization{"Window", 2, 6, "paddle_2_6", "range_abs_max", "abs_max"},
        Quantization{"Learned", 2, 6, "onednn_int8", "lsq", "lsq", QuantSpec::FUSED},
        Quantization{"LearnedPerChannel", 2, 6, "onednn_int8", "lsq", "channel_wise_lsq",
                     QuantSpec::FUSED},
        Quantization{"Scheduled", 2, 6, "onednn_int8", "moving_average_abs_max", "lsq",
                     QuantSpec::FUSED, true},
        Quantization{"OfFluid", 1, 8, "paddle_1_8", "moving_average_abs_max", "abs_max"}),
    [](const testing::TestParamInfo<Quantization>& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint::reference
