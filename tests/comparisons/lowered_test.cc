// Simulated = portable = lowered = the reference interpreter's integers: the int8 program computes
// what quantized training computes, bit for bit, on networks that were trained for some steps on
// random images.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "benchmarks/networks.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/predictor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case {
  const char* name;
  const char* network;
  const char* config;
  std::set<std::string> on_integers;  // all ops of these types
};

class Lowered : public testing::TestWithParam<Case> {};

TEST_P(Lowered, ComputesWhatTrainingSaw) {
  Network network = BuildNetwork(GetParam().network, /*batch=*/4);
  const Tensor images = RandomImages(network.image_dims, 100);
  const auto forms = TrainForms(std::move(network), GetParam().config);
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_THAT(NotOnIntegers((*forms)->lowered, GetParam().on_integers), IsEmpty());
  const auto compared = CompareForms(**forms, images);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
  EXPECT_GE(compared->variables.size(), 3) << absl::StrJoin(compared->variables, " ");
}

const std::set<std::string> kConvolutions = {"conv2d", "depthwise_conv2d", "mul"};
const std::set<std::string> kConvolutionsAndPooling = {"conv2d", "depthwise_conv2d", "mul",
                                                       "pool2d"};

INSTANTIATE_TEST_SUITE_P(
    Networks, Lowered,
    testing::Values(
        Case{"LeNet5", "lenet5", "", kConvolutionsAndPooling},
        Case{"LeNet5Of4Bits", "lenet5", "activations { bits: 4 } weights { bits: 4 }",
             kConvolutionsAndPooling},
        Case{"LeNet5WithZeroPoints", "lenet5",
             "activations { quantizer: 'moving_average_min_max' }", kConvolutions},
        Case{"LeNet5Of4BitsWithZeroPoints", "lenet5",
             "activations { quantizer: 'moving_average_min_max' bits: 4 } weights { bits: 4 }",
             kConvolutions},
        Case{"ResNet20", "resnet20", "", kConvolutions},
        Case{"ResNet20Of4Bits", "resnet20", "activations { bits: 4 } weights { bits: 4 }",
             kConvolutions},
        Case{"ResNet20OfLearnedScales", "resnet20", "activations { quantizer: 'lsq' form: FUSED }",
             kConvolutions},
        Case{"ResNet20WithAverages", "resnet20", "also_quantize: 'pool2d'",
             kConvolutionsAndPooling},
        Case{"ResNet20WithZeroPoints", "resnet20",
             "activations { quantizer: 'moving_average_min_max' }", kConvolutions},
        Case{"Separable", "small_separable", "", kConvolutions},
        Case{"SeparableOf4BitsWithAverages", "small_separable",
             "activations { bits: 4 } also_quantize: 'pool2d'", kConvolutionsAndPooling},
        Case{"SeparableWithSignedZeroPointsAndAverages", "small_separable",
             "activations { quantizer: 'moving_average_min_max' signedness: SIGNED } "
             "also_quantize: 'pool2d'",
             kConvolutionsAndPooling},
        Case{"UpDown", "up_down", "", {"conv2d", "conv2d_transpose", "mul"}},
        Case{"UpDownWithAveragesAndConcatenation",
             "up_down",
             "also_quantize: 'pool2d' also_quantize: 'concat'",
             {"concat", "conv2d", "conv2d_transpose", "mul", "pool2d"}},
        Case{"UpDownOf4Bits",
             "up_down",
             "activations { bits: 4 } weights { bits: 4 } also_quantize: 'pool2d'",
             {"conv2d", "conv2d_transpose", "mul", "pool2d"}},
        Case{"Encoder", "encoder", "", {"conv2d", "mul", "matmul_v2"}},
        Case{"EncoderWithZeroPoints",
             "encoder",
             "activations { quantizer: 'moving_average_min_max' }",
             {"conv2d", "mul"}},
        Case{"EncoderOf4Bits",
             "encoder",
             "activations { bits: 4 } weights { bits: 4 }",
             {"conv2d", "mul", "matmul_v2"}}),
    [](const auto& info) { return std::string(info.param.name); });

// The floats that ops write, from the first codes up to the pooling.
std::vector<std::string> NumbersBeforePooling(const Program& lowered) {
  std::vector<std::string> numbers;
  bool has_codes = false;
  for (const Op& op : lowered.block(0).ops()) {
    if (op.type() == "pool2d") return numbers;
    has_codes = has_codes || op.type() == "integer_quantize";
    for (const Argument* output : op.outputs()) {
      const VarType::TensorDesc* tensor = output->variable()->tensor();
      if (has_codes && tensor != nullptr && tensor->data_type() == VarType::FP32) {
        numbers.emplace_back(output->name());
      }
    }
  }
  return {"nothing is pooled"};
}

// Residual blocks add and store codes; only the last one stores floats, which are pooled.
TEST(LoweredResNet20, HasNothingButCodesBetweenItsBlocks) {
  const auto forms = TrainForms(BuildNetwork("resnet20", /*batch=*/4), "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_THAT(NumbersBeforePooling((*forms)->lowered.program), ElementsAre(HasSubstr("relu")));
}

int64_t BytesOfCodes(const Scope& scope) {
  int64_t bytes = 0;
  for (const auto& [name, value] : scope) {
    const auto* const tensor = std::get_if<Tensor>(&value);
    if (tensor != nullptr && tensor->dtype() == VarType::INT8) bytes += tensor->bytes().size();
  }
  return bytes;
}

// Packed for instructions that are not exact, weights have room for words besides bytes.
TEST(LoweredResNet20, PacksCodesIntoAtMost22TenthsOfTheirBytes) {
  if (kernels::BestProductSet() == kernels::ProductSet::kNone) {
    GTEST_SKIP() << "weights are packed as floats";
  }
  const auto forms = TrainForms(BuildNetwork("resnet20", /*batch=*/4), "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  LoweredModel& lowered = (*forms)->lowered;
  const int64_t codes = BytesOfCodes(lowered.scope);
  EXPECT_GT(codes, 250'000);
  PredictorOptions options;
  options.inputs = {(*forms)->image};
  options.outputs = {(*forms)->scores};
  const auto predictor =
      Predictor::Create(std::move(lowered.program), std::move(lowered.scope), options);
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  const auto scores = (*predictor)->Run({RandomImages({1, 3, 32, 32}, 100)});
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_LE(static_cast<double>((*predictor)->constant_bytes()), 2.2 * static_cast<double>(codes));
}

// Two activations are multiplied, of which the right one is never negative.
Network BuildProductOfActivations(int64_t batch) {
  Network network;
  network.main = EmptyProgram(2, 6, 2);
  network.startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&network.main, &network.startup);
  network.image = Data(net, "image", {-1, 1, 8, 8});
  network.image_dims = {batch, 1, 8, 8};
  network.label = Data(net, "label", {-1, 1}, VarType::INT64);
  const std::string rows = Reshape(net, Relu(net, Conv2d(net, network.image, 4, 3)), {0, 4, 36});
  const std::string weights = Softmax(net, Transpose(net, rows, {0, 2, 1}));
  network.scores = Fc(net, Matmul(net, rows, weights), 10);
  network.loss = Mean(net, SoftmaxWithCrossEntropy(net, network.scores, network.label));
  const auto minimized = Optimizer(Momentum(0.9f), 0.01f).Minimize(net, network.loss);
  EXPECT_TRUE(minimized.ok()) << minimized.status();
  return network;
}

TEST(LoweredProductOfActivations, IsOnIntegersThoughTheRightOneIsNeverNegative) {
  Network network = BuildProductOfActivations(/*batch=*/4);
  const Tensor images = RandomImages(network.image_dims, 100);
  const auto forms = TrainForms(std::move(network), "");
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_THAT(NotOnIntegers((*forms)->lowered, {"conv2d", "mul", "matmul_v2"}), IsEmpty());
  const auto compared = CompareForms(**forms, images);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
}

// Between two convolutions images become larger, by an op that takes the nearest elements.
Network BuildResized(const std::string& type, int64_t batch) {
  Network network;
  network.main = EmptyProgram(2, 6, 2);
  network.startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&network.main, &network.startup);
  network.image = Data(net, "image", {-1, 1, 8, 8});
  network.image_dims = {batch, 1, 8, 8};
  network.label = Data(net, "label", {-1, 1}, VarType::INT64);
  OpBuilder resize = net.New(type);
  resize.Input("X", Relu(net, Conv2d(net, network.image, 5, 3)))
      .IntAttr("out_h", 12)
      .IntAttr("out_w", 9)
      .BoolAttr("align_corners", false);
  const std::string resized = net.AppendWithOutput(resize, "Out", "resized");
  network.scores = Fc(net, Relu(net, Conv2d(net, resized, 6, 3)), 10);
  network.loss = Mean(net, SoftmaxWithCrossEntropy(net, network.scores, network.label));
  const auto minimized = Optimizer(Momentum(0.9f), 0.01f).Minimize(net, network.loss);
  EXPECT_TRUE(minimized.ok()) << minimized.status();
  return network;
}

// The element types that ops of a type read.
std::set<VarType::Type> TypesReadBy(const Program& program, const std::string& type) {
  std::set<VarType::Type> types;
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == type) types.insert(op.Input("X")->variable()->tensor()->data_type());
  }
  return types;
}

TEST(LoweredResizing, MovesCodes) {
  for (const std::string type : {"nearest_interp", "nearest_interp_v2"}) {
    Network network = BuildResized(type, /*batch=*/4);
    const Tensor images = RandomImages(network.image_dims, 100);
    const auto forms = TrainForms(std::move(network), "");
    ASSERT_TRUE(forms.ok()) << forms.status();
    EXPECT_THAT(NotOnIntegers((*forms)->lowered, {"conv2d", "mul", type}), IsEmpty());
    EXPECT_THAT(TypesReadBy((*forms)->lowered.program, type), ElementsAre(VarType::UINT8));
    const auto compared = CompareForms(**forms, images);
    ASSERT_TRUE(compared.ok()) << compared.status();
    EXPECT_THAT(compared->differences, IsEmpty());
  }
}

}  // namespace
}  // namespace fixpoint
