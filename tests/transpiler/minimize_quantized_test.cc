// Transpile before Minimize gives the program that Transpile after Minimize gives.

#include "transpiler/train/minimize_quantized.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "ops/quantizer_table.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/ops/forward_part.h"
#include "tests/ops/reference_program.h"
#include "tests/testing/learned_quantizer.h"
#include "tests/testing/reference_data.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

struct Programs {
  Program main;
  Program startup;
};

// A convolution, a product and their loss.
std::string SmallNet(ProgramBuilder& net) {
  const std::string image = Data(net, "image", {-1, 1, 8, 8});
  const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
  const std::string features = Relu(net, Conv2d(net, image, 4, 3));
  return Mean(net, SoftmaxWithCrossEntropy(net, Fc(net, features, 10), label));
}

Programs Empty() { return {EmptyProgram(2, 6, 2), EmptyProgram(2, 6, 2)}; }

Optimizer AnOptimizer() { return Optimizer(Momentum(0.9f), 0.1f).set_l2_decay(1e-4f); }

// What both orders make of the forward programs that `forward` gives; `loss` finishes them.
void ExpectOneProgram(const TranspileOptions& options, const Optimizer& optimizer, Programs after,
                      Programs before, const std::string& loss) {
  ProgramBuilder net_after(&after.main, &after.startup);
  const auto parameters_after = optimizer.Minimize(net_after, loss);
  ASSERT_TRUE(parameters_after.ok()) << parameters_after.status();
  TranspileOptions with_startup = options;
  with_startup.startup = &after.startup;
  const absl::StatusOr<TranspileResult> transpiled = Transpile(&after.main, with_startup);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  ASSERT_TRUE(after.main.Proto().has_edit_log());

  with_startup.startup = &before.startup;
  ASSERT_TRUE(Transpile(&before.main, with_startup).ok());
  ProgramBuilder net_before(&before.main, &before.startup);
  const auto parameters_before = MinimizeQuantized(optimizer, net_before, loss, options);
  ASSERT_TRUE(parameters_before.ok()) << parameters_before.status();
  EXPECT_EQ(PrintProgram(before.main.Proto()), PrintProgram(after.main.Proto()));
  EXPECT_EQ(PrintProgram(before.startup.Proto()), PrintProgram(after.startup.Proto()));
  ASSERT_EQ(parameters_before->size(), parameters_after->size());
  for (size_t i = 0; i < parameters_after->size(); ++i) {
    EXPECT_EQ((*parameters_before)[i].parameter, (*parameters_after)[i].parameter);
    EXPECT_EQ((*parameters_before)[i].gradient, (*parameters_after)[i].gradient);
  }
}

TEST(MinimizeQuantized, GivesWhatTranspileAfterMinimizeGives) {
  Programs after = Empty();
  ProgramBuilder net_after(&after.main, &after.startup);
  const std::string loss = SmallNet(net_after);
  Programs before = Empty();
  ProgramBuilder net_before(&before.main, &before.startup);
  ASSERT_EQ(SmallNet(net_before), loss);
  ExpectOneProgram({}, AnOptimizer(), std::move(after), std::move(before), loss);
}

TEST(MinimizeQuantized, TrainsScales) {
  QuantizerTable quantizers;
  ASSERT_TRUE(quantizers.Add(std::make_unique<LearnedQuantizer>()).ok());
  TranspileOptions options;
  options.quantizers = &quantizers;
  options.config.set_target("onednn_int8");
  options.config.mutable_activations()->set_quantizer("learned");
  options.config.mutable_activations()->set_form(QuantSpec::FUSED);
  Programs after = Empty();
  ProgramBuilder net_after(&after.main, &after.startup);
  const std::string loss = SmallNet(net_after);
  Programs before = Empty();
  ProgramBuilder net_before(&before.main, &before.startup);
  SmallNet(net_before);
  ExpectOneProgram(options, AnOptimizer(), std::move(after), std::move(before), loss);
}

// The startup program that Transpile made for itself is not needed: the net's gets the state.
TEST(MinimizeQuantized, InitialisesStateInTheStartupProgramOfTheNet) {
  Programs programs = Empty();
  ProgramBuilder net(&programs.main, &programs.startup);
  const std::string loss = SmallNet(net);
  ASSERT_TRUE(Transpile(&programs.main).ok());
  const Block& startup = programs.startup.block(0);
  ASSERT_EQ(programs.startup.Find(startup, "image@scale"), nullptr);
  ASSERT_TRUE(MinimizeQuantized(AnOptimizer(), net, loss).ok());
  EXPECT_NE(programs.startup.Find(programs.startup.block(0), "image@scale"), nullptr);
}

TEST(MinimizeQuantized, RefusesAProgramThatWasNotTranspiled) {
  Programs programs = Empty();
  ProgramBuilder net(&programs.main, &programs.startup);
  const std::string loss = SmallNet(net);
  EXPECT_EQ(
      MinimizeQuantized(AnOptimizer(), net, loss).status(),
      absl::FailedPreconditionError("the program was not transpiled; want Optimizer::Minimize"));
}

TEST(MinimizeQuantized, LeavesBothProgramsWhereItFails) {
  Programs programs = Empty();
  ProgramBuilder net(&programs.main, &programs.startup);
  SmallNet(net);
  TranspileOptions options;
  options.startup = &programs.startup;
  ASSERT_TRUE(Transpile(&programs.main, options).ok());
  const std::string main = PrintProgram(programs.main.Proto());
  const std::string startup = PrintProgram(programs.startup.Proto());
  EXPECT_EQ(MinimizeQuantized(AnOptimizer(), net, "image").status(),
            absl::InvalidArgumentError("no op of block 0 writes the loss \"image\""));
  EXPECT_EQ(PrintProgram(programs.main.Proto()), main);
  EXPECT_EQ(PrintProgram(programs.startup.Proto()), startup);
}

// Another tool quantized the image, which Transpile was told to put up with.
TEST(MinimizeQuantized, RefusesOptionsWithWhichTranspileLeavesTheProgramAlone) {
  Programs programs = Empty();
  ProgramBuilder net(&programs.main, &programs.startup);
  const std::string image = Data(net, "image", {-1, 8});
  OpBuilder quantizer = net.New("fake_quantize_dequantize_abs_max");
  quantizer.Input("X", image).Output("OutScale", "image.scale");
  const std::string quantized = net.AppendWithOutput(quantizer, "Out", "image.quantized");
  const std::string loss = Mean(net, Fc(net, Relu(net, Fc(net, quantized, 4)), 4));
  TranspileOptions options;
  options.config.set_allow_quantized(true);
  options.startup = &programs.startup;
  const auto transpiled = Transpile(&programs.main, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  const std::string main = PrintProgram(programs.main.Proto());
  EXPECT_EQ(MinimizeQuantized(AnOptimizer(), net, loss).status(),
            absl::FailedPreconditionError(
                "with these options the program is left alone: the program was quantized by "
                "another tool already: 1 ops quantize or dequantize, the first is block 0, op 0 "
                "(fake_quantize_dequantize_abs_max)"));
  EXPECT_EQ(PrintProgram(programs.main.Proto()), main);
  EXPECT_TRUE(MinimizeQuantized(AnOptimizer(), net, loss, options).ok());
}

TEST(MinimizeQuantized, IsNamedWhereMinimizeIsAskedOfATranspiledProgram) {
  Programs programs = Empty();
  ProgramBuilder net(&programs.main, &programs.startup);
  const std::string loss = SmallNet(net);
  ASSERT_TRUE(Transpile(&programs.main).ok());
  EXPECT_EQ(AnOptimizer().Minimize(net, loss).status(),
            absl::UnimplementedError(
                "block 0, op 10 (fake_channel_wise_dequantize_max_abs): the gradient of "
                "\"mean_0.tmp_0\" would have to pass an op that quantizes; minimize before the "
                "program is quantized, or by MinimizeQuantized "
                "(transpiler/train/minimize_quantized.h)"));
}

struct Net {
  const char* name;
  const char* file;
  const char* target;
};

class MinimizeQuantizedReference : public testing::TestWithParam<Net> {};

TEST_P(MinimizeQuantizedReference, GivesWhatTranspileAfterMinimizeGives) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::vector<ReferenceProgram> files = LoadReferencePrograms(GetParam().file);
  ASSERT_EQ(files.size(), 1);
  const Program& training = files[0].program;
  const auto forward = [&training] {
    Program main = ForwardPart(training);
    Program startup = EmptyProgramLike(main);
    return Programs{std::move(main), std::move(startup)};
  };
  TranspileOptions options;
  options.config.set_target(GetParam().target);
  ExpectOneProgram(options, AnOptimizer(), forward(), forward(), LossOf(training));
}

INSTANTIATE_TEST_SUITE_P(
    Generated, MinimizeQuantizedReference,
    testing::Values(
        Net{"DigitsConv", "fluid185/digits_conv-adam-train_main.pdmodel", "paddle_1_8"},
        Net{"LeNet", "paddle262/lenet-adam-train_main.pdmodel", "paddle_2_6"},
        Net{"ResNet20", "paddle262/resnet20_cifar-momentum_l2-train_main.pdmodel", "onednn_int8"},
        Net{"MobileNetV1", "paddle262/mobilenet_v1-momentum_l2-train_main.pdmodel", "paddle_2_6"},
        Net{"BertMini", "paddle262/bert_mini-adamw_clip-train_main.pdmodel", "onednn_int8"},
        Net{"WhileRnn", "paddle262/while_rnn-sgd-train_main.pdmodel", "paddle_2_6"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
