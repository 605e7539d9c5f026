// Scales that should be trained and cannot be: the op stays float, or what asks for it is refused.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "proto/program/program.h"
#include "tests/testing/norm_quantizer.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/trained_scales.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using UntrainableScales = TrainedScales;

struct Untrainable {
  const char* name;
  // What stands in the program of two products in place of what.
  std::pair<const char*, const char*> change;
  const char* detail;  // of the second product's decision
};

class UntrainableScale : public TrainedScales, public testing::WithParamInterface<Untrainable> {};

TEST_P(UntrainableScale, LeavesTheOpFloat) {
  Program program = ParsedProgram(absl::StrReplaceAll(kTwoProducts, {GetParam().change}));
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options_);
  ASSERT_TRUE(result.ok()) << result.status();
  const QuantPlan::Decision& decision = result->plan.decisions(1);
  EXPECT_EQ(decision.reason(), "scale_not_trainable");
  EXPECT_EQ(decision.detail(), GetParam().detail);
}

INSTANTIATE_TEST_SUITE_P(
    Table, UntrainableScale,
    testing::Values(
        Untrainable{"WithoutAnOptimizer",
                    {"{op_role=2}", "{op_role=0}"},
                    "X is y: no optimizer op of block 0 has a LearningRate"},
        Untrainable{"WithoutAGradientOp",
                    {"mul_grad(X=y, Y=w, Out@GRAD=z@GRAD) -> (X@GRAD=y@GRAD, Y@GRAD=w@GRAD)",
                     "tanh_grad(Out=y, Out@GRAD=z@GRAD) -> (X@GRAD=y@GRAD)"},
                    "X is y: no gradient op computes X@GRAD"},
        Untrainable{"WhereGradientsAreSummedOverWorkers",
                    {"  sgd(Grad=v@GRAD",
                     "  c_allreduce_sum(X=v@GRAD) -> (Out=v@GRAD) {op_role=1}\n"
                     "  sgd(Grad=v@GRAD"},
                    "X is y: block 0, op 5 (c_allreduce_sum) stands between gradients and "
                    "parameters"},
        Untrainable{"WhereNoBlockDeclaresTheGradient",
                    {"  var y@GRAD f32[-1,2]\n", ""},
                    "X is y: no block declares \"y@GRAD\""},
        Untrainable{"WhereNoBlockDeclaresTheLearningRate",
                    {"  var rate f32[1] persistable\n", ""},
                    "X is y: no block declares the LearningRate \"rate\""},
        Untrainable{
            "WhereTheGradientComesAfterTheOptimizer",
            {"  mul_grad(X=y, Y=w, Out@GRAD=z@GRAD) -> (X@GRAD=y@GRAD, Y@GRAD=w@GRAD) {op_role=1}\n"
             "  mul_grad(X=x, Y=v, Out@GRAD=y@GRAD) -> (Y@GRAD=v@GRAD) {op_role=1}\n"
             "  sgd(Grad=v@GRAD, LearningRate=rate, Param=v) -> (ParamOut=v) {op_role=2}\n"
             "  sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}\n",
             "  mul_grad(X=x, Y=v, Out@GRAD=y@GRAD) -> (Y@GRAD=v@GRAD) {op_role=1}\n"
             "  sgd(Grad=v@GRAD, LearningRate=rate, Param=v) -> (ParamOut=v) {op_role=2}\n"
             "  mul_grad(X=y, Y=w, Out@GRAD=z@GRAD) -> (X@GRAD=y@GRAD, Y@GRAD=w@GRAD) "
             "{op_role=1}\n"},
            "X is y: block 0, op 5 (mul_grad) does not run before the optimizer in block 0"},
        Untrainable{"WhereAGradientOpHasTheSlotTwice",
                    {"(X@GRAD=y@GRAD, ", "(X@GRAD=[], X@GRAD=y@GRAD, "},
                    "X is y: block 0, op 3 (mul_grad) has slot X@GRAD twice"}),
    [](const testing::TestParamInfo<Untrainable>& info) { return info.param.name; });

TEST_F(UntrainableScales, AScaleOfABlockThatAnOpRunsIsNotTrainable) {
  Program program = ParsedProgram(R"(
    block 0 {
      var c bool[1]
      var x f32[-1,4]
      var w f32[4,4] persistable
      var y f32[-1,4]
      var scope step_scopes
      var w@GRAD f32[4,4]
      var y@GRAD f32[-1,4]
      var rate f32[1] persistable
      conditional_block(Cond=c, Input=[x, w]) -> (Out=y, Scope=scope) {sub_block=block(1)}
      conditional_block_grad(Cond=c, Input=[x, w], Out=y, Out@GRAD=y@GRAD, Scope=scope) -> (Input@GRAD=[@EMPTY@, w@GRAD]) {sub_block=block(2), op_role=1}
      sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}
    }
    block 1 parent=0 {
      mul(X=x, Y=w) -> (Out=y)
    }
    block 2 parent=0 forward=1 {
      var w@GRAD f32[4,4]
      mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
    }
  )");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.decisions(0).reason(), "scale_not_trainable");
  EXPECT_EQ(result->plan.decisions(0).detail(), "X is x: an op that runs blocks runs it");
}

TEST_F(UntrainableScales, NoScaleIsTrainableWhereABlockThatAnOpRunsHasTheOptimizer) {
  Program program = ParsedProgram(R"(
    block 0 {
      var c bool[1]
      var x f32[-1,2]
      var w f32[2,2] persistable
      var y f32[-1,2]
      var scope step_scopes
      var y@GRAD f32[-1,2]
      var w@GRAD f32[2,2]
      var rate f32[1] persistable
      mul(X=x, Y=w) -> (Out=y)
      mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
      conditional_block(Cond=c, Input=[w, w@GRAD, rate]) -> (Out=w, Scope=scope) {sub_block=block(1), op_role=2}
    }
    block 1 parent=0 {
      sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}
    }
  )");
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->plan.decisions(0).reason(), "scale_not_trainable");
  EXPECT_EQ(result->plan.decisions(0).detail(),
            "X is x: block 1, op 0 (sgd) updates parameters in a block that an op runs");
}

TEST_F(UntrainableScales, APipelineWithoutThePassIsRefused) {
  options_.pipeline = "plan_quantizers,insert_quantizers,initialize_state";
  Program program = ParsedProgram(kTwoProducts);
  const absl::Status status = Transpile(&program, options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "pipeline: quantizer learned trains the scale of \"x\", and no pass of "
            "plan_quantizers,insert_quantizers,initialize_state gives it a gradient; add "
            "train_scales after insert_quantizers");
}

TEST_F(UntrainableScales, APlanThatAsksForWhatIsNotTrainableIsRefused) {
  Program trainable = ParsedProgram(kTwoProducts);
  const absl::StatusOr<TranspileResult> planned = Transpile(&trainable, options_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  Program program = ParsedProgram(absl::StrReplaceAll(kTwoProducts, {{"LearningRate=rate, ", ""}}));
  TranspileOptions options;
  options.quantizers = &quantizers_;
  options.plan = &planned->plan;
  const absl::Status status = Transpile(&program, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()),
            "plan: \"x\": quantizer learned trains its scale, and no optimizer op of block 0 has a "
            "LearningRate; want another quantizer [in plan_quantizers]");
}

// Trains a range, and says nothing of how.
class UntoldQuantizer final : public NormQuantizer {
 public:
  absl::string_view name() const override { return "untold"; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }

 private:
  const std::vector<QuantizerRecipe> recipes_ = [this] {
    std::vector<QuantizerRecipe> recipes(NormQuantizer::recipes().begin(),
                                         NormQuantizer::recipes().end());
    recipes.front().state.front().is_trained = true;
    return recipes;
  }();
};

TEST_F(UntrainableScales, AQuantizerThatDoesNotSayHowIsRefused) {
  const absl::Status status = quantizers_.Add(std::make_unique<UntoldQuantizer>());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "quantizer untold trains a state; want gradient and update ops, recipes that are fused "
            "and read the state, and neither observers nor summary ops");
}

}  // namespace
}  // namespace fixpoint
