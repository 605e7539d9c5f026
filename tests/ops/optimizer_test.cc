// Minimize on small networks: what stands after the forward part, what the startup program
// initialises, and what is refused.

#include "ops/optimizer.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/layers.h"
#include "ops/program_builder.h"
#include "ops/verifier.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/ops/text_program.h"
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

TEST_F(MinimizeTest, ClipsByValue) {
  const auto parameters = Optimizer(Sgd(), 0.1f)
                              .set_clip(GradientClip::ByValue(-2, 3))
                              .Minimize(net_, MeanOfProduct(net_));
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_EQ(parameters->front().gradient, "clip_0.tmp_0");
  EXPECT_EQ(TrainingOps(main_, kOptimize),
            "clip(X=fc_0.w_0@GRAD) -> (Out=clip_0.tmp_0)\n"
            "sgd(Param=fc_0.w_0, Grad=clip_0.tmp_0, LearningRate=learning_rate_0) -> "
            "(ParamOut=fc_0.w_0)\n");
  const Op& clip = *main_.block(0).last_op()->previous();
  EXPECT_EQ(FloatAttr(clip.desc(), "min"), -2);
  EXPECT_EQ(FloatAttr(clip.desc(), "max"), 3);
}

TEST(Minimize, ClipsByTheGlobalNormInTheWordsOfFluid) {
  Program main = EmptyProgram(1, 8, 5);
  Program startup = EmptyProgram(1, 8, 5);
  ProgramBuilder net(&main, &startup);
  const std::string loss = Mean(net, Fc(net, Data(net, "x", {-1, 2}), 1));
  const auto parameters =
      Optimizer(Sgd(), 0.1f).set_clip(GradientClip::ByGlobalNorm(5)).Minimize(net, loss);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_EQ(
      TrainingOps(main, kOptimize),
      "square(X=fc_0.b_0@GRAD) -> (Out=square_0.tmp_0)\n"
      "reduce_sum(X=square_0.tmp_0) -> (Out=reduce_sum_0.tmp_0)\n"
      "square(X=fc_0.w_0@GRAD) -> (Out=square_1.tmp_0)\n"
      "reduce_sum(X=square_1.tmp_0) -> (Out=reduce_sum_1.tmp_0)\n"
      "sum(X=[reduce_sum_0.tmp_0, reduce_sum_1.tmp_0]) -> (Out=sum_0.tmp_0)\n"
      "sqrt(X=sum_0.tmp_0) -> (Out=sqrt_0.tmp_0)\n"
      "fill_constant() -> (Out=fill_constant_0.tmp_0)\n"
      "elementwise_max(X=fill_constant_0.tmp_0, Y=sqrt_0.tmp_0) -> (Out=elementwise_max_0.tmp_0)\n"
      "elementwise_div(X=fill_constant_0.tmp_0, Y=elementwise_max_0.tmp_0) -> "
      "(Out=elementwise_div_0.tmp_0)\n"
      "elementwise_mul(X=fc_0.b_0@GRAD, Y=elementwise_div_0.tmp_0) -> "
      "(Out=elementwise_mul_0.tmp_0)\n"
      "elementwise_mul(X=fc_0.w_0@GRAD, Y=elementwise_div_0.tmp_0) -> "
      "(Out=elementwise_mul_1.tmp_0)\n"
      "sgd(Param=fc_0.b_0, Grad=elementwise_mul_0.tmp_0, LearningRate=learning_rate_0) -> "
      "(ParamOut=fc_0.b_0)\n"
      "sgd(Param=fc_0.w_0, Grad=elementwise_mul_1.tmp_0, LearningRate=learning_rate_0) -> "
      "(ParamOut=fc_0.w_0)\n");
}

// The gradient of a table holds the rows that were looked up.
class MinimizeSparse : public testing::Test {
 protected:
  // The ops after the backward part.
  std::string Minimize(const Optimizer& optimizer) {
    ProgramBuilder net(&main_, &startup_);
    const auto parameters = optimizer.Minimize(net, "loss");
    if (!parameters.ok()) return std::string(parameters.status().ToString());
    for (const Finding& finding : Verify(main_)) ADD_FAILURE() << finding.message;
    return TrainingOps(main_, kOptimize);
  }
  std::string Declaration(absl::string_view name) const {
    return PrintVar(*main_.Find(main_.block(0), name)->desc());
  }

  Program main_ = ProgramFromText(R"(
    var ids i64[-1,1] need_check_feed
    var table f32[9,2] persistable
    var row f32[-1,2]
    var same f32[-1,2]
    var both f32[-1,2]
    var loss f32[1]
    lookup_table(W=table, Ids=ids) -> (Out=row) {is_sparse=true}
    lookup_table(W=table, Ids=ids) -> (Out=same) {is_sparse=true}
    elementwise_add(X=row, Y=same) -> (Out=both)
    mean(X=both) -> (Out=loss)
  )");
  Program startup_;
};

TEST_F(MinimizeSparse, UpdatesTheRows) {
  EXPECT_EQ(Minimize(Optimizer(Sgd(), 0.1f)),
            "sgd(Param=table, Grad=table@GRAD, LearningRate=learning_rate_0) -> "
            "(ParamOut=table)\n");
  EXPECT_EQ(Declaration("table@GRAD"), "var table@GRAD selected_rows f32[9,2]");
}

TEST_F(MinimizeSparse, ClipsTheRowsByTheirValues) {
  EXPECT_EQ(Minimize(Optimizer(Sgd(), 0.1f).set_clip(GradientClip::ByValue(-5, 5))),
            "clip(X=table@GRAD) -> (Out=clip_0.tmp_0)\n"
            "sgd(Param=table, Grad=clip_0.tmp_0, LearningRate=learning_rate_0) -> "
            "(ParamOut=table)\n");
  EXPECT_EQ(Declaration("clip_0.tmp_0"), "var clip_0.tmp_0 selected_rows f32[9,2]");
}

TEST_F(MinimizeSparse, ClipsTheRowsByTheirNorm) {
  EXPECT_EQ(Minimize(Optimizer(Sgd(), 0.1f).set_clip(GradientClip::ByNorm(5))),
            "clip_by_norm(X=table@GRAD) -> (Out=clip_by_norm_0.tmp_0)\n"
            "sgd(Param=table, Grad=clip_by_norm_0.tmp_0, LearningRate=learning_rate_0) -> "
            "(ParamOut=table)\n");
  EXPECT_EQ(Declaration("clip_by_norm_0.tmp_0"), "var clip_by_norm_0.tmp_0 selected_rows f32[9,2]");
}

// A row that was looked up twice counts once, with the sum of its gradients.
TEST_F(MinimizeSparse, ClipsByTheGlobalNormOfTheMergedRows) {
  EXPECT_EQ(
      Minimize(Optimizer(Sgd(), 0.1f).set_clip(GradientClip::ByGlobalNorm(5))),
      "merge_selected_rows(X=table@GRAD) -> (Out=merge_selected_rows_0.tmp_0)\n"
      "get_tensor_from_selected_rows(X=merge_selected_rows_0.tmp_0) -> "
      "(Out=get_tensor_from_selected_rows_0.tmp_0)\n"
      "square(X=get_tensor_from_selected_rows_0.tmp_0) -> (Out=square_0.tmp_0)\n"
      "reduce_sum(X=square_0.tmp_0) -> (Out=reduce_sum_0.tmp_0)\n"
      "sum(X=reduce_sum_0.tmp_0) -> (Out=sum_0.tmp_0)\n"
      "sqrt(X=sum_0.tmp_0) -> (Out=sqrt_0.tmp_0)\n"
      "fill_constant() -> (Out=fill_constant_0.tmp_0)\n"
      "elementwise_max(X=fill_constant_0.tmp_0, Y=sqrt_0.tmp_0) -> (Out=elementwise_max_0.tmp_0)\n"
      "elementwise_div(X=fill_constant_0.tmp_0, Y=elementwise_max_0.tmp_0) -> "
      "(Out=elementwise_div_0.tmp_0)\n"
      "elementwise_mul(X=table@GRAD, Y=elementwise_div_0.tmp_0) -> "
      "(Out=elementwise_mul_0.tmp_0)\n"
      "sgd(Param=table, Grad=elementwise_mul_0.tmp_0, LearningRate=learning_rate_0) -> "
      "(ParamOut=table)\n");
  EXPECT_EQ(Declaration("merge_selected_rows_0.tmp_0"),
            "var merge_selected_rows_0.tmp_0 selected_rows f32[9,2]");
  EXPECT_EQ(Declaration("get_tensor_from_selected_rows_0.tmp_0"),
            "var get_tensor_from_selected_rows_0.tmp_0 f32[9,2]");
  EXPECT_EQ(Declaration("elementwise_mul_0.tmp_0"),
            "var elementwise_mul_0.tmp_0 selected_rows f32[9,2]");
}

TEST_F(MinimizeSparse, DecaysAllRows) {
  EXPECT_EQ(Minimize(Optimizer(Sgd(), 0.1f).set_l2_decay(0.01f)),
            "scale(X=table) -> (Out=_generated_var_0)\n"
            "sum(X=[table@GRAD, _generated_var_0]) -> (Out=table@GRAD@NEWGRAD@)\n"
            "sgd(Param=table, Grad=table@GRAD@NEWGRAD@, LearningRate=learning_rate_0) -> "
            "(ParamOut=table)\n");
  EXPECT_EQ(Declaration("table@GRAD@NEWGRAD@"), "var table@GRAD@NEWGRAD@ f32[9,2]");
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
