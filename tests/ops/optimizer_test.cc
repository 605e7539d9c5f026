// Minimize on small networks: what stands behind the forward part, what the startup program
// initialises, and what is refused.

#include "ops/optimizer.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "ops/layers.h"
#include "ops/program_builder.h"
#include "proto/program.h"
#include "proto/program_text.h"
#include "tests/testing/training_ops.h"

namespace fixpoint {
namespace {

// The mean of x w, a loss.
std::string MeanOfProduct(ProgramBuilder& net) {
  return Mean(net, Fc(net, Data(net, "x", {-1, 2}), 1, /*first_axis=*/1, /*bias=*/false));
}

class MinimizeTest : public testing::Test {
 protected:
  Program main_ = EmptyProgram(2, 6, 2);
  Program startup_ = EmptyProgram(2, 6, 2);
  ProgramBuilder net_{&main_, &startup_};
};

TEST_F(MinimizeTest, WritesTheBackwardPassAndTheUpdates) {
  const auto parameters = Optimizer(Momentum(0.9f), 0.1f).Minimize(net_, MeanOfProduct(net_));
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  ASSERT_EQ(parameters->size(), 1);
  EXPECT_EQ(parameters->front().parameter, "fc_0.w_0");
  EXPECT_EQ(parameters->front().gradient, "fc_0.w_0@GRAD");
  EXPECT_EQ(TrainingOps(main_),
            "fill_constant() -> (Out=mean_0.tmp_0@GRAD)\n"
            "reduce_mean_grad(Out@GRAD=mean_0.tmp_0@GRAD, X=fc_0.tmp_0) -> "
            "(X@GRAD=fc_0.tmp_0@GRAD)\n"
            "mul_grad(Out@GRAD=fc_0.tmp_0@GRAD, X=x, Y=fc_0.w_0) -> (X@GRAD=[], "
            "Y@GRAD=fc_0.w_0@GRAD)\n"
            "momentum(Param=fc_0.w_0, Grad=fc_0.w_0@GRAD, LearningRate=learning_rate_0, "
            "Velocity=fc_0.w_0_velocity_0) -> (ParamOut=fc_0.w_0, "
            "VelocityOut=fc_0.w_0_velocity_0)\n");
}

TEST_F(MinimizeTest, LeavesABuilderThatBuildsOn) {
  const std::string loss = MeanOfProduct(net_);
  ASSERT_TRUE(Optimizer(Sgd(), 0.1f).Minimize(net_, loss).ok());
  EXPECT_EQ(Scale(net_, loss, 100), "scale_0.tmp_0");
  EXPECT_EQ(Fc(net_, "x", 3), "fc_1.tmp_1");
  EXPECT_TRUE(net_.status().ok()) << net_.status();
  EXPECT_EQ(startup_.block(0).last_op()->Output("Out")->name(), "fc_1.b_0");
}

struct Refusal {
  const char* name;
  std::function<absl::Status(ProgramBuilder&)> minimize;
  const char* error;
};

class MinimizeRefuses : public MinimizeTest, public testing::WithParamInterface<Refusal> {};

TEST_P(MinimizeRefuses, AndLeavesBothProgramsAsTheyWere) {
  ProgramBuilder(&startup_, &main_).DeclareTemporary("fc_0.w_0_velocity_0", {2, 1});
  MeanOfProduct(net_);
  const std::string main = PrintProgram(main_.Proto());
  const std::string startup = PrintProgram(startup_.Proto());
  EXPECT_EQ(GetParam().minimize(net_).ToString(), GetParam().error);
  EXPECT_EQ(PrintProgram(main_.Proto()), main);
  EXPECT_EQ(PrintProgram(startup_.Proto()), startup);
  EXPECT_TRUE(net_.status().ok()) << net_.status();
}

INSTANTIATE_TEST_SUITE_P(
    Table, MinimizeRefuses,
    testing::Values(
        Refusal{"ALossThatNoLayerMade",
                [](ProgramBuilder& net) {
                  return Optimizer(Sgd(), 0.1f).Minimize(net, "mean_1.tmp_0").status();
                },
                "INVALID_ARGUMENT: block 0 declares no loss \"mean_1.tmp_0\""},
        Refusal{"AStartupProgramThatHasWhatItWouldInitialise",
                [](ProgramBuilder& net) {
                  return Optimizer(Momentum(0.9f), 0.1f).Minimize(net, "mean_0.tmp_0").status();
                },
                "INVALID_ARGUMENT: \"fc_0.w_0_velocity_0\" cannot be declared: the name is in use "
                "in the startup program; want another"},
        Refusal{"AScheduleOfTooFewValues",
                [](ProgramBuilder& net) {
                  return Optimizer(Sgd(), LearningRate::Piecewise({10}, {0.1f}))
                      .Minimize(net, "mean_0.tmp_0")
                      .status();
                },
                "INVALID_ARGUMENT: Piecewise: boundaries [10] and 1 values; want boundaries that "
                "ascend, and one value more than boundaries"},
        Refusal{
            "AScheduleThatGoesBack",
            [](ProgramBuilder& net) {
              return Optimizer(Sgd(), LearningRate::Piecewise({10, 10}, {0.1f, 0.2f, 0.3f}))
                  .Minimize(net, "mean_0.tmp_0")
                  .status();
            },
            "INVALID_ARGUMENT: Piecewise: boundaries [10, 10] and 3 values; want boundaries that "
            "ascend, and one value more than boundaries"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Minimize, RefusesAnOpThatTheReleaseDoesNotHave) {
  Program main = EmptyProgram(1, 8, 5);
  Program startup = EmptyProgram(1, 8, 5);
  ProgramBuilder net(&main, &startup);
  EXPECT_EQ(Optimizer(AdamW(), 0.1f).Minimize(net, MeanOfProduct(net)).status().ToString(),
            "INVALID_ARGUMENT: Minimize: the program's version is 1008005, and its era has no op "
            "adamw; want another optimizer");
}

TEST_F(MinimizeTest, GivesTheErrorOfTheFirstLayerThatFailed) {
  const std::string loss = Mean(net_, Fc(net_, "x", 3));
  EXPECT_EQ(Optimizer(Sgd(), 0.1f).Minimize(net_, loss).status().ToString(),
            "INVALID_ARGUMENT: no layer made \"x\"");
}

}  // namespace
}  // namespace fixpoint
