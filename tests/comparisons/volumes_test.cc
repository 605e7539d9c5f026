// Convolutions of volumes that are quantized on request train, and compute the same bits simulated,
// portable and lowered: in float, from codes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/networks.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A convolution of 3 x 3 x 3 volumes of pixels.
std::string Convolution(ProgramBuilder& net, const std::string& type, const std::string& x,
                        const std::vector<int64_t>& filter, const std::vector<int64_t>& dims) {
  Persistable weight;
  weight.name = net.UniqueName(type) + ".w";
  weight.dims = filter;
  weight.initializer = Initializer::Uniform(-0.3f, 0.3f);
  weight.is_parameter = true;
  net.AddPersistable(weight);
  const std::string out = net.DeclareTemporary(net.UniqueName(type), dims);
  OpBuilder op = net.New(type);
  op.Input("Input", x)
      .Input("Filter", weight.name)
      .Output("Output", out)
      .IntsAttr("strides", {1, 2, 2})
      .IntsAttr("paddings", {1, 1, 1})
      .IntsAttr("dilations", {1, 1, 1})
      .IntAttr("groups", 1);
  net.Append(op);
  return out;
}

// A convolution and a transposed one, trained by Adam.
Network BuildVolumes() {
  Network network;
  network.main = EmptyProgram(2, 6, 2);
  network.startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&network.main, &network.startup);
  network.image = Data(net, "image", {-1, 2, 3, 6, 6});
  network.label = Data(net, "label", {-1, 1}, VarType::INT64);
  network.image_dims = {4, 2, 3, 6, 6};
  const std::string small =
      Convolution(net, "conv3d", network.image, {5, 2, 3, 3, 3}, {-1, 5, 3, 3, 3});
  const std::string large = Convolution(net, "conv3d_transpose", Activation(net, small, "relu"),
                                        {5, 4, 3, 3, 3}, {-1, 4, 3, 5, 5});
  network.scores = Fc(net, Activation(net, large, "relu"), 10);
  network.loss = Mean(net, SoftmaxWithCrossEntropy(net, network.scores, network.label));
  const auto minimized = Optimizer(Adam(), 0.01f).Minimize(net, network.loss);
  EXPECT_TRUE(minimized.ok()) << minimized.status();
  return network;
}

TEST(Volumes, AreTheSameInAllForms) {
  Network network = BuildVolumes();
  const Tensor images = RandomImages(network.image_dims, 100);
  const auto forms =
      TrainForms(std::move(network), "also_quantize: 'conv3d' also_quantize: 'conv3d_transpose'");
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_THAT(NotOnIntegers((*forms)->lowered, {"conv3d", "conv3d_transpose"}),
              ElementsAre("conv3d: 1 no_rule", "conv3d_transpose: 1 no_rule"));
  const auto compared = CompareForms(**forms, images, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_THAT(compared->variables, Contains((*forms)->scores));
  const auto simulation = ScoresOf(**forms, (*forms)->simulated, &(*forms)->trained, images);
  const auto lowered =
      ScoresOf(**forms, (*forms)->lowered.program, &(*forms)->lowered.scope, images);
  ASSERT_TRUE(simulation.ok() && lowered.ok()) << simulation.status() << lowered.status();
  EXPECT_EQ(*simulation, *lowered);
}

TEST(Volumes, AreQuantizedOnRequestAlone) {
  Network network = BuildVolumes();
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.startup = &network.startup;
  const auto transpiled = Transpile(&network.main, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  std::vector<std::string> reasons;
  for (const QuantPlan::Decision& decision : transpiled->plan.decisions()) {
    if (decision.type() == "conv3d") reasons.emplace_back(decision.reason());
  }
  EXPECT_THAT(reasons, testing::Each("on_request"));
  EXPECT_THAT(reasons, testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace fixpoint
