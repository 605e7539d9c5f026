// One step of each optimizer, worked by hand.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

constexpr int kFluid = 1008005;
constexpr int kPaddle2 = 2006002;

// The parameter 2 with gradient 4 at a learning rate of 0.5.
std::string Step(int version, const std::string& op, const std::string& state) {
  return RunOps(absl::StrCat("program version=", version, "\nblock 0 {\n", op, "\n}"),
                "p f32[1] 2\ng f32[1] 4\nlr f32[1] 0.5\n" + state);
}

TEST(Optimizers, Sgd) {
  EXPECT_EQ(Step(kPaddle2, "sgd(Param=p, Grad=g, LearningRate=lr) -> (ParamOut=p)", ""),
            "p f32[1] 0\n");
}

TEST(Optimizers, Momentum) {
  const std::string op =
      "momentum(Param=p, Grad=g, LearningRate=lr, Velocity=v) -> (ParamOut=p, VelocityOut=v) {";
  EXPECT_EQ(Step(kPaddle2, op + "mu=0.5}", "v f32[1] 2\n"), "p f32[1] -0.5\nv f32[1] 5\n");
  EXPECT_EQ(Step(kPaddle2, op + "mu=0.5, use_nesterov=true}", "v f32[1] 2\n"),
            "p f32[1] -1.25\nv f32[1] 5\n");
  EXPECT_EQ(
      Step(kPaddle2, op + "mu=0.5, regularization_method=\"l2_decay\", regularization_coeff=0.5}",
           "v f32[1] 2\n"),
      "p f32[1] -1\nv f32[1] 6\n");
}

constexpr char kAdamSlots[] =
    "(Param=p, Grad=g, LearningRate=lr, Moment1=m1, Moment2=m2, Beta1Pow=b1, Beta2Pow=b2) -> "
    "(ParamOut=p, Moment1Out=m1, Moment2Out=m2, Beta1PowOut=b1, Beta2PowOut=b2) ";

// m1 = 2, m2 = 4; corrected 4 and 16: the step is lr * 4 / (4 + epsilon). 1.x adds epsilon before
// the correction by 1/2, which doubles it.
TEST(Optimizers, Adam) {
  const std::string op = absl::StrCat("adam", kAdamSlots, "{beta1=0.5, beta2=0.75, epsilon=1.0}");
  const std::string state = "m1 f32[1] 0\nm2 f32[1] 0\nb1 f32[1] 0.5\nb2 f32[1] 0.75\n";
  const std::string moments = "b1 f32[1] 0.25\nb2 f32[1] 0.5625\nm1 f32[1] 2\nm2 f32[1] 4\n";
  EXPECT_EQ(Step(kPaddle2, op, state), moments + "p f32[1] 1.60000002\n");
  EXPECT_EQ(Step(kFluid, op, state), moments + "p f32[1] 1.66666663\n");
}

// Ops after all updates multiply the powers, which parameters share.
TEST(Optimizers, AdamLeavesGlobalPowersAlone) {
  const std::string op = absl::StrCat(
      "adam", kAdamSlots, "{beta1=0.5, beta2=0.75, epsilon=1.0, use_global_beta_pow=true}");
  EXPECT_EQ(Step(kPaddle2, op, "m1 f32[1] 0\nm2 f32[1] 0\nb1 f32[1] 0.5\nb2 f32[1] 0.75\n"),
            "b1 f32[1] 0.5\nb2 f32[1] 0.75\nm1 f32[1] 2\nm2 f32[1] 4\np f32[1] 1.60000002\n");
}

TEST(Optimizers, AdamWDecaysTheParameterFirst) {
  const std::string op = absl::StrCat(
      "adamw", kAdamSlots, "{beta1=0.5, beta2=0.75, epsilon=1.0, coeff=0.5, with_decay=true}");
  const std::string state = "m1 f32[1] 0\nm2 f32[1] 0\nb1 f32[1] 0.5\nb2 f32[1] 0.75\n";
  EXPECT_EQ(Step(kPaddle2, op, state),
            "b1 f32[1] 0.25\nb2 f32[1] 0.5625\nm1 f32[1] 2\nm2 f32[1] 4\np f32[1] 1.10000002\n");
}

// r = m1 / (sqrt(m2) + 0) + 0.5 * p; a parameter of one number moves by lr * |p|.
TEST(Optimizers, LambGoesAsFarAsTheParameterIsLong) {
  const std::string op =
      absl::StrCat("lamb", kAdamSlots, "{beta1=0.5, beta2=0.75, epsilon=0.0, weight_decay=0.5}");
  const std::string state = "m1 f32[1] 0\nm2 f32[1] 0\nb1 f32[1] 0.5\nb2 f32[1] 0.75\n";
  EXPECT_EQ(Step(kPaddle2, op, state),
            "b1 f32[1] 0.25\nb2 f32[1] 0.5625\nm1 f32[1] 2\nm2 f32[1] 4\np f32[1] 1\n");
}

// As 2.6 says of parameters that do not decay: r = m1 / sqrt(m2) = 1, and p moves by lr * r.
TEST(Optimizers, LambIsAdamWhereItNeitherDecaysNorAlwaysAdapts) {
  const std::string op =
      absl::StrCat("lamb", kAdamSlots, "{beta1=0.5, beta2=0.75, epsilon=0.0, weight_decay=0.0, ");
  const std::string state = "m1 f32[1] 0\nm2 f32[1] 0\nb1 f32[1] 0.5\nb2 f32[1] 0.75\n";
  const std::string moments = "b1 f32[1] 0.25\nb2 f32[1] 0.5625\nm1 f32[1] 2\nm2 f32[1] 4\n";
  EXPECT_EQ(Step(kPaddle2, op + "always_adapt=false}", state), moments + "p f32[1] 1.5\n");
  EXPECT_EQ(Step(kPaddle2, op + "always_adapt=true}", state), moments + "p f32[1] 1\n");
}

TEST(Optimizers, Adagrad) {
  EXPECT_EQ(Step(kPaddle2,
                 "adagrad(Param=p, Grad=g, LearningRate=lr, Moment=m) -> (ParamOut=p, MomentOut=m) "
                 "{epsilon=0.0}",
                 "m f32[1] 9\n"),
            "m f32[1] 25\np f32[1] 1.60000002\n");
}

TEST(Optimizers, RmsProp) {
  const std::string op =
      "rmsprop(Param=p, Grad=g, LearningRate=lr, MeanSquare=ms, MeanGrad=mg, Moment=m) -> "
      "(ParamOut=p, MeanSquareOut=ms, MeanGradOut=mg, MomentOut=m) ";
  const std::string state = "ms f32[1] 34\nmg f32[1] 2\nm f32[1] 1\n";
  EXPECT_EQ(Step(kPaddle2, op + "{epsilon=0.0, decay=0.5, momentum=0.5}", state),
            "m f32[1] 0.899999976\nmg f32[1] 2\nms f32[1] 25\np f32[1] 1.10000002\n");
  EXPECT_EQ(Step(kPaddle2, op + "{epsilon=0.0, decay=0.5, momentum=0.5, centered=true}", state),
            "m f32[1] 1\nmg f32[1] 3\nms f32[1] 25\np f32[1] 1\n");
}

}  // namespace
}  // namespace fixpoint::reference
