// Networks of layers and an optimizer: they give the programs that the reference's layers gave, to
// train and to initialise.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "ops/verifier.h"
#include "proto/diff/program_diff.h"
#include "proto/program/program.h"
#include "tests/ops/forward_part.h"
#include "tests/ops/reference_program.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

class LayersReference : public testing::Test {
 protected:
  // Begins a network of the release of a reference program.
  void Begin(const std::string& file) {
    file_ = file;
    files_ = LoadReferencePrograms(file);
    ASSERT_EQ(files_.size(), 1);
    main_ = EmptyProgramLike(files_[0].program);
    startup_ = EmptyProgramLike(files_[0].program);
  }

  // What is different in the training program of the loss.
  std::string Differences(ProgramBuilder& net, const std::string& loss,
                          const Optimizer& optimizer) {
    const auto parameters = optimizer.Minimize(net, loss);
    EXPECT_TRUE(parameters.ok()) << parameters.status();
    VerifyOptions verify;
    verify.startup = &startup_;
    for (const Finding& finding : Verify(main_, verify)) ADD_FAILURE() << finding.message;
    DiffOptions diff;
    diff.ignore_temporary_names = true;
    diff.ignore_debug_attributes = true;
    const std::vector<ReferenceProgram> startups = LoadReferencePrograms(StartupOf(file_));
    EXPECT_EQ(startups.size(), 1);
    const Program nothing;
    EXPECT_EQ(PrintDiff(DiffPrograms(Initializers(startups[0].program, nothing),
                                     Initializers(startup_, nothing), diff)),
              "");
    return PrintDiff(DiffPrograms(files_[0].program, main_, diff));
  }

  std::string file_;
  std::vector<ReferenceProgram> files_;
  Program main_;
  Program startup_;
};

// The reference hands use_cudnn on to the activation that a layer was asked for; here the
// activation is a layer of its own. It only chooses a kernel of graphics cards.
std::string ReluOfConvolution(int op, int layer) {
  const std::string relu = absl::StrCat("relu_", layer, ".tmp_0");
  return absl::StrCat("~ op ", op, ": relu(X=conv2d_", layer, ".tmp_1) -> (Out=", relu,
                      ")\n    attribute use_cudnn: true -> false\n");
}
std::string ReluGradOfConvolution(int op, int layer) {
  const std::string relu = absl::StrCat("relu_", layer, ".tmp_0");
  return absl::StrCat("~ op ", op, ": relu_grad(Out=", relu, ", Out@GRAD=", relu,
                      "@GRAD) -> (X@GRAD=conv2d_", layer,
                      ".tmp_1@GRAD)\n    attribute use_cudnn: true -> false\n");
}

std::string ConvRelu(ProgramBuilder& net, const std::string& x, int filters) {
  return Relu(net, Conv2d(net, x, filters, 5));
}

TEST_F(LayersReference, LeNet) {
  SKIP_WITHOUT_REFERENCE_DATA();
  Begin("paddle262/lenet-adam-train_main.pdmodel");
  ProgramBuilder net(&main_, &startup_);
  const std::string image = Data(net, "image", {-1, 1, 28, 28});
  const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
  const std::string first = MaxPool2d(net, ConvRelu(net, image, 20), 2);
  const std::string second = MaxPool2d(net, ConvRelu(net, first, 50), 2);
  const std::string prediction = Softmax(net, Fc(net, Relu(net, Fc(net, second, 500)), 10));
  const std::string loss = Mean(net, CrossEntropy(net, prediction, label));
  Accuracy(net, prediction, label);
  EXPECT_EQ(Differences(net, loss, Optimizer(Adam(), 0.001f)),
            "@@ block 0 @@\n" + ReluOfConvolution(2, 0) + ReluOfConvolution(6, 1) +
                ReluGradOfConvolution(28, 1) + ReluGradOfConvolution(32, 0));
}

TEST_F(LayersReference, DigitsConv) {
  SKIP_WITHOUT_REFERENCE_DATA();
  Begin("fluid185/digits_conv-adam-train_main.pdmodel");
  ProgramBuilder net(&main_, &startup_);
  const std::string image = Data(net, "img", {-1, 1, 28, 28});
  const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
  const std::string first = MaxPool2d(net, ConvRelu(net, image, 20), 2);
  const std::string second = MaxPool2d(net, ConvRelu(net, first, 50), 2);
  const std::string prediction = Softmax(net, Fc(net, second, 10));
  const std::string loss = Mean(net, CrossEntropy(net, prediction, label));
  Accuracy(net, prediction, label);
  EXPECT_EQ(Differences(net, loss, Optimizer(Adam(), 0.001f)),
            "@@ block 0 @@\n" + ReluOfConvolution(2, 0) + ReluOfConvolution(6, 1) +
                ReluGradOfConvolution(22, 1) + ReluGradOfConvolution(26, 0));
}

std::string ConvBatchNorm(ProgramBuilder& net, const std::string& x, int filters, int kernel,
                          int stride) {
  Conv2dOptions options;
  options.stride = stride;
  options.padding = kernel / 2;
  options.bias = false;
  return BatchNorm(net, Conv2d(net, x, filters, kernel, options));
}

std::string ResidualBlock(ProgramBuilder& net, const std::string& x, int filters, int stride) {
  const std::string inner =
      ConvBatchNorm(net, Relu(net, ConvBatchNorm(net, x, filters, 3, stride)), filters, 3, 1);
  const std::string shortcut = stride == 1 ? x : ConvBatchNorm(net, x, filters, 1, stride);
  return Relu(net, Add(net, shortcut, inner));
}

TEST_F(LayersReference, ResNet20) {
  SKIP_WITHOUT_REFERENCE_DATA();
  Begin("paddle262/resnet20_cifar-momentum_l2-train_main.pdmodel");
  ProgramBuilder net(&main_, &startup_);
  const std::string image = Data(net, "image", {-1, 3, 32, 32});
  const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
  std::string x = Relu(net, ConvBatchNorm(net, image, 16, 3, 1));
  for (const int filters : {16, 32, 64}) {
    for (int block = 0; block < 3; ++block) {
      x = ResidualBlock(net, x, filters, filters > 16 && block == 0 ? 2 : 1);
    }
  }
  const std::string logits = Fc(net, GlobalAvgPool2d(net, x), 10);
  const std::string loss = Mean(net, SoftmaxWithCrossEntropy(net, logits, label));
  Accuracy(net, Softmax(net, logits), label);
  Softmax(net, logits);
  EXPECT_EQ(Differences(net, loss, Optimizer(Momentum(0.9f), 0.1f).set_l2_decay(1e-4f)), "");
}

}  // namespace
}  // namespace fixpoint
