// Minimize over the forward parts of the reference's training programs: it gives those programs,
// and what their startup programs initialise beside the parameters.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/diff/program_diff.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "tests/ops/forward_part.h"
#include "tests/ops/reference_program.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

// How a file was made. A rate that the host sets at each step starts at 0.
struct Net {
  const char* name;
  const char* file;
  Optimizer optimizer;
};

class MinimizeReference : public testing::TestWithParam<Net> {};

TEST_P(MinimizeReference, GivesTheReferencesPrograms) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::vector<ReferenceProgram> files = LoadReferencePrograms(GetParam().file);
  ASSERT_EQ(files.size(), 1);
  Program program = ForwardPart(files[0].program);
  Program startup = EmptyProgramLike(program);
  ProgramBuilder net(&program, &startup);
  const auto parameters = GetParam().optimizer.Minimize(net, LossOf(files[0].program));
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  DiffOptions diff;
  diff.ignore_temporary_names = true;
  diff.ignore_debug_attributes = true;
  EXPECT_EQ(PrintDiff(DiffPrograms(files[0].program, program, diff)), "");

  const Program forward = ForwardPart(files[0].program);
  const std::vector<ReferenceProgram> startups = LoadReferencePrograms(StartupOf(GetParam().file));
  ASSERT_EQ(startups.size(), 1);
  diff.ignore_temporary_names = false;
  EXPECT_EQ(PrintDiff(DiffPrograms(Initializers(startups[0].program, forward),
                                   Initializers(startup, forward), diff)),
            "");
}

INSTANTIATE_TEST_SUITE_P(
    Generated, MinimizeReference,
    testing::Values(
        Net{"FitALine", "fluid185/fit_a_line-sgd-train_main.pdmodel", Optimizer(Sgd(), 0.01f)},
        Net{"Word2VecFluid", "fluid185/word2vec-sgd-train_main.pdmodel", Optimizer(Sgd(), 0.01f)},
        Net{"DigitsConv", "fluid185/digits_conv-adam-train_main.pdmodel",
            Optimizer(Adam(), 0.001f)},
        Net{"SentimentConv", "fluid185/sentiment_conv-adagrad-train_main.pdmodel",
            Optimizer(Adagrad(), 0.002f)},
        Net{"ResNet20Fluid", "fluid185/resnet20_cifar-momentum_piecewise_l2-train_main.pdmodel",
            Optimizer(Momentum(0.9f),
                      LearningRate::Piecewise({1000, 2000, 3000}, {0.1f, 0.01f, 0.001f, 1e-4f}))
                .set_l2_decay(1e-4f)},
        Net{"LeNet", "paddle262/lenet-adam-train_main.pdmodel", Optimizer(Adam(), 0.001f)},
        Net{"ResNet20", "paddle262/resnet20_cifar-momentum_l2-train_main.pdmodel",
            Optimizer(Momentum(0.9f), 0.1f).set_l2_decay(1e-4f)},
        Net{"MobileNetV1", "paddle262/mobilenet_v1-momentum_l2-train_main.pdmodel",
            Optimizer(Momentum(0.9f), 0.1f).set_l2_decay(1e-4f)},
        Net{"MobileNetV3", "paddle262/mobilenet_v3_small-rmsprop_l2-train_main.pdmodel",
            Optimizer(RmsProp(), 0.01f).set_l2_decay(1e-4f)},
        Net{"Vgg16", "paddle262/vgg16-nesterov_clip-train_main.pdmodel",
            Optimizer(Momentum(0.9f, /*use_nesterov=*/true), 0.05f)
                .set_l2_decay(1e-4f)
                .set_clip(GradientClip::ByNorm(5))},
        Net{"BertMini", "paddle262/bert_mini-adamw_clip-train_main.pdmodel",
            Optimizer(AdamW(0.01f), 0.0f).set_clip(GradientClip::ByGlobalNorm(1))},
        Net{"TextConv", "paddle262/textconv-lamb-train_main.pdmodel",
            Optimizer(Lamb(0.01f), 0.001f)},
        Net{"WhileRnn", "paddle262/while_rnn-sgd-train_main.pdmodel", Optimizer(Sgd(), 0.01f)},
        Net{"Word2Vec", "paddle262/word2vec-adagrad-train_main.pdmodel",
            Optimizer(Adagrad(), 0.1f)}),
    [](const auto& info) { return std::string(info.param.name); });

// The ops that compute the learning rate.
Program ScheduleOf(const Program& training) {
  ProgramDesc desc = training.Proto();
  BlockDesc& block = *desc.mutable_blocks(0);
  block.clear_vars();
  auto& ops = *block.mutable_ops();
  ops.erase(std::remove_if(ops.begin(), ops.end(),
                           [](const OpDesc& op) {
                             return IntAttr(op, "op_role").value_or(0) != kLearningRate;
                           }),
            ops.end());
  desc.mutable_blocks()->DeleteSubrange(1, desc.blocks_size() - 1);
  absl::StatusOr<Program> program = Program::Create(desc);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

// The schedule stands in another network.
TEST(MinimizeReference, GivesTheReferencesNoam) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::vector<ReferenceProgram> files =
      LoadReferencePrograms("fluid185/nmt_dynrnn-adam_noam_clip_l2-train_main.pdmodel");
  ASSERT_EQ(files.size(), 1);
  Program program = EmptyProgram(1, 8, 5);
  Program startup = EmptyProgram(1, 8, 5);
  ProgramBuilder net(&program, &startup);
  const std::string loss = Mean(net, Fc(net, Data(net, "x", {-1, 2}), 1));
  const auto parameters = Optimizer(Adam(), LearningRate::Noam(256, 4000)).Minimize(net, loss);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  DiffOptions diff;
  diff.ignore_temporary_names = true;
  diff.ignore_debug_attributes = true;
  EXPECT_EQ(PrintDiff(DiffPrograms(ScheduleOf(files[0].program), ScheduleOf(program), diff)), "");
}

TEST(MinimizeReference, GivesALoopAGradientBlock) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::vector<ReferenceProgram> files =
      LoadReferencePrograms("fluid185/nmt_dynrnn-adam_noam_clip_l2-train_main.pdmodel");
  ASSERT_EQ(files.size(), 1);
  Program program = ForwardPart(files[0].program);
  Program startup = EmptyProgramLike(program);
  ProgramBuilder net(&program, &startup);
  const absl::Status status = Optimizer(Adam(), LearningRate::Noam(256, 4000))
                                  .Minimize(net, LossOf(files[0].program))
                                  .status();
  ASSERT_TRUE(status.ok()) << status;
  const auto types_of = [](const Program& of, int block) {
    std::multiset<std::string> types;
    for (const Op& op : of.block(block).ops()) types.emplace(op.type());
    return types;
  };
  ASSERT_EQ(program.block_count(), files[0].program.block_count());
  EXPECT_EQ(types_of(program, 2), types_of(files[0].program, 2));
  EXPECT_EQ(types_of(program, 0).count("while_grad"), 1);
}

}  // namespace
}  // namespace fixpoint
