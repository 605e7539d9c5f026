// Simulated = portable = lowered = the reference interpreter's integers where the target adds a
// bias as an int32 to the sums, and where a multiplier and a shift make codes of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "benchmarks/networks.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "transpiler/plan/target.h"

namespace fixpoint {
namespace {

using ::testing::IsEmpty;

// Each layer has a bias: a depthwise convolution in a residual block, and a product with so many
// terms that floats do not hold every sum exactly.
Network BuildBiased(int64_t batch) {
  Network network;
  network.main = EmptyProgram(2, 6, 2);
  network.startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&network.main, &network.startup);
  network.image = Data(net, "image", {-1, 3, 12, 12});
  network.image_dims = {batch, 3, 12, 12};
  network.label = Data(net, "label", {-1, 1}, VarType::INT64);
  Conv2dOptions padded;
  padded.padding = 1;
  Conv2dOptions depthwise = padded;
  depthwise.groups = 8;
  const std::string first = Relu(net, Conv2d(net, network.image, 8, 3, padded));
  const std::string filtered = Relu(net, Conv2d(net, first, 8, 3, depthwise));
  const std::string joined = Relu(net, Add(net, Conv2d(net, filtered, 8, 1), first));
  network.scores = Fc(net, joined, 10);
  network.loss = Mean(net, SoftmaxWithCrossEntropy(net, network.scores, network.label));
  const auto minimized = Optimizer(Momentum(0.9f), 0.01f).Minimize(net, network.loss);
  EXPECT_TRUE(minimized.ok()) << minimized.status();
  return network;
}

// The ops of a lowered program that add a bias to their sums, and those that add floats to each
// channel after them.
int CountOf(const Program& lowered, absl::string_view what) {
  int count = 0;
  for (const Op& op : lowered.block(0).ops()) {
    if (what == "Bias") {
      count += absl::StartsWith(op.type(), "integer_") && op.Input("Bias") != nullptr;
      continue;
    }
    const absl::StatusOr<Epilogue> epilogue = EpilogueOf(op.desc());
    if (!epilogue.ok()) continue;
    for (const EpilogueStage& stage : *epilogue) count += StageName(stage.kind) == what;
  }
  return count;
}

struct Case {
  const char* name;
  const char* network;  // "": BuildBiased
  const char* config;
  int biases;
  int roundings = 0;  // of a multiplier and a shift; 0: of a float multiplier
  int requantized = 0;
};

class IntegerBias : public testing::TestWithParam<Case> {};

TEST_P(IntegerBias, IsLoweredToWhatTrainingSaw) {
  constexpr int kBatch = 4;
  const std::string name = GetParam().network;
  Network network = name.empty() ? BuildBiased(kBatch) : BuildNetwork(name, kBatch);
  const Tensor images = RandomImages(network.image_dims, 100);
  TranspileOptions options;
  options.target = *BuiltInTarget("onednn_int8");
  options.target->set_bias(Target::INT32);
  if (GetParam().roundings > 0) {
    options.target->set_requantization(Target::MULTIPLIER_AND_SHIFT);
    options.target->set_requantization_roundings(GetParam().roundings);
  }
  const auto forms = TrainForms(std::move(network), GetParam().config, std::move(options));
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_EQ(CountOf((*forms)->lowered.program, "Bias"), GetParam().biases);
  EXPECT_EQ(CountOf((*forms)->lowered.program, "requantize"), GetParam().requantized);
  EXPECT_EQ(CountOf((*forms)->lowered.program, "add_channel"),
            CountOf((*forms)->lowered.program, "multiply_channel"));  // of batch norms alone
  const auto compared = CompareForms(**forms, images);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, IntegerBias,
    testing::Values(
        Case{"LeNet5", "lenet5", "", 5},
        Case{"LeNet5Of4Bits", "lenet5", "activations { bits: 4 } weights { bits: 4 }", 5},
        Case{"LeNet5OfLearnedScales", "lenet5",
             "activations { quantizer: 'lsq' form: FUSED } "
             "weights { quantizer: 'channel_wise_lsq' form: FUSED }",
             5},
        Case{"LeNet5OfOneScaleForEachWeight", "lenet5",
             "weights { quantizer: 'abs_max' granularity: PER_TENSOR }", 5},
        Case{"LeNet5OfAffineActivations", "lenet5",
             "activations { quantizer: 'moving_average_min_max' }", 5},
        Case{"LeNet5OfOneZeroPointForEachWeight", "lenet5",
             "activations { quantizer: 'moving_average_min_max' } "
             "weights { quantizer: 'moving_average_min_max' }",
             5},
        Case{"LeNet5OfZeroPointsForRows", "lenet5", "fc_weights { quantizer: 'row_wise_min_max' }",
             5},
        Case{"LeNet5OfAffineActivationsAndRowsOf4Bits", "lenet5",
             "activations { quantizer: 'moving_average_min_max' bits: 4 } weights { bits: 4 } "
             "fc_weights { quantizer: 'row_wise_min_max' bits: 4 }",
             5},
        Case{"LeNet5RoundedOnce", "lenet5", "", 5, 1, 4},
        Case{"LeNet5OfAffineActivationsRoundedTwice", "lenet5",
             "activations { quantizer: 'moving_average_min_max' }", 5, 2, 0},
        Case{"DepthwiseInAResidualBlockRoundedTwice", "", "", 4, 2, 2},
        Case{"LeNet5FromTheSecondStepOn", "lenet5", "schedule { quantize_from_step: 2 }", 5},
        Case{"DepthwiseInAResidualBlock", "", "", 4}, Case{"UpDown", "up_down", "", 2},
        Case{"Encoder", "encoder", "", 14}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
