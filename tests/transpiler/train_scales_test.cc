// Quantizers whose scale is trained: what stands in the backward part and after the optimizer.

#include <glog/logging.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "ops/formula_gradient.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/text_quantizer.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/learned_quantizer.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/training_ops.h"
#include "tests/testing/wrong_pass.h"
#include "tests/transpiler/trained_scales.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(TrainedScales, GivesEachScaleAGradientAndAnUpdate) {
  EXPECT_EQ(
      TrainingOps(Transpiled(kTwoProducts)),
      "fill_constant() -> (Out=z@GRAD)\n"
      "mul_grad(X=y.quant_dequant, Y=w.quantized.dequantized, Out@GRAD=z@GRAD) -> "
      "(X@GRAD=y.quant_dequant@GRAD, Y@GRAD=w@GRAD)\n"
      "users_fake_quantize_learned_grad(X=y, Scale=y@scale, Out@GRAD=y.quant_dequant@GRAD) -> "
      "(X@GRAD=y@GRAD, Scale@GRAD=y@scale@GRAD)\n"
      // Nobody wanted the gradient of x; that of its scale needs it.
      "mul_grad(X=x.quant_dequant, Y=v.quantized.dequantized, Out@GRAD=y@GRAD) -> "
      "(Y@GRAD=v@GRAD, X@GRAD=x.quant_dequant@GRAD)\n"
      "users_fake_quantize_learned_grad(X=x, Scale=x@scale, Out@GRAD=x.quant_dequant@GRAD) -> "
      "(X@GRAD=@EMPTY@, Scale@GRAD=x@scale@GRAD)\n"
      "sgd(Grad=v@GRAD, LearningRate=rate, Param=v) -> (ParamOut=v)\n"
      "sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w)\n"
      "momentum(Grad=x@scale@GRAD, LearningRate=rate, Param=x@scale, Velocity=x@velocity) -> "
      "(ParamOut=x@scale, VelocityOut=x@velocity)\n"
      "clip(X=x@scale) -> (Out=x@scale)\n"
      "momentum(Grad=y@scale@GRAD, LearningRate=rate, Param=y@scale, Velocity=y@velocity) -> "
      "(ParamOut=y@scale, VelocityOut=y@velocity)\n"
      "clip(X=y@scale) -> (Out=y@scale)\n");
}

TEST_F(TrainedScales, MarksUpdatesWithWhatTheyUpdate) {
  EXPECT_THAT(PrintProgram(Transpiled(kTwoProducts).Proto()),
              HasSubstr("{min=0.001, max=1000.0, op_role=2, op_role_var=[\"x@scale\", "
                        "\"x@scale@GRAD\"], fixpoint.inserted_by=\"train_scales\"}"));
}

// As where a paper maps weights to [-1, 1] by a function that is trained.
TEST_F(TrainedScales, TheRangeMayBeConstantWhereTheValueIsComputedFromWhatIsTrained) {
  auto read = ReadQuantizers(R"(
quantizer gained "A gain that is trained, and a range of 1."
states:
  number() -> (Out=gain) {trained=true, initial=1.0}
forward:
  elementwise_mul(X=x, Y=gain) -> (Out=value)
  fill_constant() -> (Out=one) {shape=[1L], dtype=5, value=1.0}
  fake_quantize_dequantize_at_range(X=value, InScale=one) -> (Out=out)
)",
                             "gained.txt");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(quantizers_.Add(std::move(read->front())).ok());
  options_.config.mutable_weights()->set_quantizer("gained");
  options_.config.mutable_weights()->set_form(QuantSpec::FUSED);
  options_.config.mutable_weights()->set_granularity(QuantSpec::PER_TENSOR);
  EXPECT_THAT(TrainingOps(Transpiled(kTwoProducts)),
              HasSubstr("sgd(Param=w@gain, Grad=w@gain@GRAD, LearningRate=rate)"));
}

TEST_F(TrainedScales, SumsTheGradientsOfAllReaders) {
  const Program program = Transpiled(R"(
    var x f32[-1,2]
    var v f32[2,2] persistable is_parameter
    var w f32[2,2] persistable is_parameter
    var y f32[-1,2]
    var z f32[-1,2]
    var rate f32[1] persistable
    var x@GRAD f32[-1,2]
    var x@GRAD@RENAME@0 f32[-1,2]
    var x@GRAD@RENAME@1 f32[-1,2]
    var y@GRAD f32[-1,2]
    var z@GRAD f32[-1,2]
    mul(X=x, Y=v) -> (Out=y)
    mul(X=x, Y=w) -> (Out=z)
    mul_grad(X=x, Y=w, Out@GRAD=z@GRAD) -> (X@GRAD=x@GRAD@RENAME@0) {op_role=1}
    mul_grad(X=x, Y=v, Out@GRAD=y@GRAD) -> (X@GRAD=x@GRAD@RENAME@1) {op_role=1}
    sum(X=[x@GRAD@RENAME@0, x@GRAD@RENAME@1]) -> (Out=x@GRAD) {op_role=1}
    sgd(Grad=x@GRAD, LearningRate=rate, Param=v) -> (ParamOut=v) {op_role=2}
  )");
  EXPECT_EQ(TrainingOps(program),
            "mul_grad(X=x.quant_dequant, Y=w.quantized.dequantized, Out@GRAD=z@GRAD) -> "
            "(X@GRAD=x.quant_dequant@GRAD_1)\n"
            "users_fake_quantize_learned_grad(X=x, Scale=x@scale, "
            "Out@GRAD=x.quant_dequant@GRAD_1) -> (X@GRAD=x@GRAD@RENAME@0, "
            "Scale@GRAD=x@scale@GRAD_1)\n"
            "mul_grad(X=x.quant_dequant, Y=v.quantized.dequantized, Out@GRAD=y@GRAD) -> "
            "(X@GRAD=x.quant_dequant@GRAD)\n"
            "users_fake_quantize_learned_grad(X=x, Scale=x@scale, "
            "Out@GRAD=x.quant_dequant@GRAD) -> (X@GRAD=x@GRAD@RENAME@1, "
            "Scale@GRAD=x@scale@GRAD)\n"
            "sum(X=[x@scale@GRAD, x@scale@GRAD_1]) -> (Out=x@scale@GRAD_2)\n"
            "sum(X=[x@GRAD@RENAME@0, x@GRAD@RENAME@1]) -> (Out=x@GRAD)\n"
            "sgd(Grad=x@GRAD, LearningRate=rate, Param=v) -> (ParamOut=v)\n"
            "momentum(Grad=x@scale@GRAD_2, LearningRate=rate, Param=x@scale, "
            "Velocity=x@velocity) -> (ParamOut=x@scale, VelocityOut=x@velocity)\n"
            "clip(X=x@scale) -> (Out=x@scale)\n");
}

// By op_role_var other tools find the op that computes the gradient of a parameter.
TEST_F(TrainedScales, TrainsTheScaleOfAWeight) {
  options_.config.mutable_weights()->set_quantizer("learned");
  options_.config.mutable_weights()->set_form(QuantSpec::FUSED);
  options_.config.mutable_activations()->set_quantizer("moving_average_abs_max");
  constexpr char kOneProduct[] = R"(
    var x f32[-1,2]
    var w f32[2,2] persistable is_parameter
    var y f32[-1,2]
    var rate f32[1] persistable
    var y@GRAD f32[-1,2]
    var w@GRAD f32[2,2]
    mul(X=x, Y=w) -> (Out=y)
    fill_constant() -> (Out=y@GRAD) {shape=[1L, 2L], dtype=5, value=1.0, op_role=257}
    mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1, op_role_var=["w", "w@GRAD"]}
    sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}
  )";
  Program program = Transpiled(kOneProduct);
  EXPECT_THAT(
      PrintProgram(program.Proto()),
      HasSubstr("  mul_grad(X=x.quant_dequant, Y=w.quant_dequant, Out@GRAD=y@GRAD) -> "
                "(Y@GRAD=w.quant_dequant@GRAD) {op_role=1, op_role_var=strings[], "
                "fixpoint.rewired=[\"X.0=x\", \"Y.0=w\", \"Y@GRAD.0=w@GRAD\", "
                "\"op_role_var=[\\\"w\\\", \\\"w@GRAD\\\"]\"]}\n"
                "  users_fake_quantize_learned_grad(X=w, Scale=w@scale, "
                "Out@GRAD=w.quant_dequant@GRAD) -> (X@GRAD=w@GRAD, Scale@GRAD=w@scale@GRAD) "
                "{op_role=1, fixpoint.inserted_by=\"train_scales\", "
                "op_role_var=[\"w\", \"w@GRAD\", \"w@scale\", \"w@scale@GRAD\"]}\n"));
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(PrintProgram(program.Proto()), PrintProgram(ParsedProgram(kOneProduct).Proto()));
}

TEST_F(TrainedScales, OneGradientOpMayGiveTheGradientsOfTwoSlots) {
  EXPECT_EQ(TrainingOps(Transpiled(R"(
    var x f32[2,2]
    var y f32[2,2]
    var rate f32[1] persistable
    var v f32[1] persistable
    var y@GRAD f32[2,2]
    var x@GRAD f32[2,2]
    var x@GRAD_1 f32[2,2]
    matmul(X=x, Y=x) -> (Out=y)
    matmul_grad(X=x, Y=x, Out@GRAD=y@GRAD) -> (X@GRAD=x@GRAD, Y@GRAD=x@GRAD_1) {op_role=1}
    sgd(Grad=v, LearningRate=rate, Param=v) -> (ParamOut=v) {op_role=2}
  )")),
            "matmul_grad(X=x.quant_dequant, Y=x.quant_dequant, Out@GRAD=y@GRAD) -> "
            "(X@GRAD=x.quant_dequant@GRAD, Y@GRAD=x.quant_dequant@GRAD_1)\n"
            "users_fake_quantize_learned_grad(X=x, Scale=x@scale, "
            "Out@GRAD=x.quant_dequant@GRAD_1) -> (X@GRAD=x@GRAD_1, Scale@GRAD=x@scale@GRAD_1)\n"
            "users_fake_quantize_learned_grad(X=x, Scale=x@scale, "
            "Out@GRAD=x.quant_dequant@GRAD) -> (X@GRAD=x@GRAD, Scale@GRAD=x@scale@GRAD)\n"
            "sum(X=[x@scale@GRAD, x@scale@GRAD_1]) -> (Out=x@scale@GRAD_2)\n"
            "sgd(Grad=v, LearningRate=rate, Param=v) -> (ParamOut=v)\n"
            "momentum(Grad=x@scale@GRAD_2, LearningRate=rate, Param=x@scale, "
            "Velocity=x@velocity) -> (ParamOut=x@scale, VelocityOut=x@velocity)\n"
            "clip(X=x@scale) -> (Out=x@scale)\n");
}

TEST_F(TrainedScales, InitialisesWhatTheUpdateKeeps) {
  Program program = ParsedProgram(kTwoProducts);
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(PrintProgram(result->new_startup->Proto()),
              HasSubstr("fill_constant() -> (Out=x@velocity) {shape=[1L], dtype=5, value=0.0"));
}

TEST_F(TrainedScales, IsUndone) {
  const Program original = ParsedProgram(kTwoProducts);
  Program program = ParsedProgram(kTwoProducts);
  ASSERT_TRUE(Transpile(&program, options_).ok());
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(PrintProgram(program.Proto()), PrintProgram(original.Proto()));
}

TEST_F(TrainedScales, IsUndoneByMarks) {
  Program program = Transpiled(kTwoProducts);
  ASSERT_TRUE(Untranspile(&program).ok());
  // The slot that was added stays, empty.
  EXPECT_EQ(absl::StrReplaceAll(PrintProgram(program.Proto()), {{", X@GRAD=[]", ""}}),
            PrintProgram(ParsedProgram(kTwoProducts).Proto()));
}

TEST_F(TrainedScales, OnlyReadsTheScaleWhereNothingTrains) {
  const Program program = Transpiled(R"(
    var x f32[-1,2]
    var w f32[2,2] persistable is_parameter
    var y f32[-1,2]
    mul(X=x, Y=w) -> (Out=y)
  )");
  EXPECT_THAT(PrintProgram(program.Proto()), Not(HasSubstr("train_scales")));
  EXPECT_THAT(
      PrintProgram(program.Proto()),
      HasSubstr("users_fake_quantize_learned(X=x, Scale=x@scale) -> (Out=x.quant_dequant)"));
}

TEST_F(TrainedScales, TheFrozenProgramReadsTheScaleThatWasLearned) {
  const Program program = Transpiled(kTwoProducts);
  Scope scope;
  for (const char* weight : {"v", "w"}) {
    scope.Set(weight, Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4}));
  }
  scope.Set("x@scale", Tensor::FromValues<float>({1}, {2.5f}));
  scope.Set("y@scale", Tensor::FromValues<float>({1}, {4}));
  FreezeOptions options;
  options.quantizers = &quantizers_;
  const absl::StatusOr<FrozenModel> model = Freeze(program, scope, options);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string text = PrintProgram(model->program.Proto());
  EXPECT_THAT(text, HasSubstr("quantize_linear(Scale=x@scale, X=x, "));
  EXPECT_THAT(text, Not(HasSubstr("velocity")));
  EXPECT_THAT(text, Not(HasSubstr("learned")));
}

// Learns the middle of the range too.
class CenteredQuantizer final : public LearnedQuantizer {
 public:
  absl::string_view name() const override { return "centered"; }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }
  std::vector<OpDesc> GradientOps(const QuantizerUse&) const override {
    return {OpBuilder("users_fake_quantize_centered_grad")
                .Input("Out@GRAD", kResultGradient)
                .Output("X@GRAD", kValueGradient)
                .Output("Scale@GRAD", "scale@GRAD")
                .Output("Center@GRAD", "center@GRAD")
                .Build()};
  }
  std::vector<OpDesc> UpdateOps(const QuantizerUse&) const override {
    const auto sgd = [](const std::string& state) {
      return OpBuilder("sgd")
          .Input("Grad", state + "@GRAD")
          .Input("LearningRate", kLearningRate)
          .Input("Param", state)
          .Output("ParamOut", state)
          .Build();
    };
    return {sgd("scale"), sgd("center")};
  }

 private:
  const std::vector<QuantizerRecipe> recipes_ = [this] {
    std::vector<QuantizerRecipe> recipes(LearnedQuantizer::recipes().begin(),
                                         LearnedQuantizer::recipes().end());
    recipes.front().quantize_op = "users_fake_quantize_centered";
    QuantizerState& center = recipes.front().state.back();
    center = recipes.front().state.front();
    center.name = "center";
    center.input = "Center";
    center.is_scale = false;
    return recipes;
  }();
};

TEST_F(TrainedScales, AQuantizerMayTrainTwoStates) {
  ASSERT_TRUE(quantizers_.Add(std::make_unique<CenteredQuantizer>()).ok());
  options_.config.mutable_activations()->set_quantizer("centered");
  EXPECT_EQ(TrainingOps(Transpiled(R"(
    var x f32[2,2]
    var w f32[2,2] persistable is_parameter
    var y f32[2,2]
    var rate f32[1] persistable
    var y@GRAD f32[2,2]
    var w@GRAD f32[2,2]
    mul(X=x, Y=w) -> (Out=y)
    mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
    sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w) {op_role=2}
  )")),
            "mul_grad(X=x.quant_dequant, Y=w.quantized.dequantized, Out@GRAD=y@GRAD) -> "
            "(Y@GRAD=w@GRAD, X@GRAD=x.quant_dequant@GRAD)\n"
            "users_fake_quantize_centered_grad(Out@GRAD=x.quant_dequant@GRAD) -> "
            "(X@GRAD=@EMPTY@, Scale@GRAD=x@scale@GRAD, Center@GRAD=x@center@GRAD)\n"
            "sgd(Grad=w@GRAD, LearningRate=rate, Param=w) -> (ParamOut=w)\n"
            "sgd(Grad=x@scale@GRAD, LearningRate=rate, Param=x@scale) -> (ParamOut=x@scale)\n"
            "sgd(Grad=x@center@GRAD, LearningRate=rate, Param=x@center) -> "
            "(ParamOut=x@center)\n");
}

// Passes on the gradient of what is positive, by a comparison.
class MaskingQuantizer final : public LearnedQuantizer {
 public:
  absl::string_view name() const override { return "masking"; }
  std::vector<OpDesc> GradientOps(const QuantizerUse&) const override {
    return {OpBuilder("fill_zeros_like").Input("X", kValue).Output("Out", "zeros").Build(),
            OpBuilder("greater_than")
                .Input("X", kValue)
                .Input("Y", "zeros")
                .Output("Out", "mask")
                .IntAttr("axis", -1)
                .Build(),
            OpBuilder("users_fake_quantize_masking_grad")
                .Input("Mask", "mask")
                .Input("Out@GRAD", kResultGradient)
                .Output("X@GRAD", kValueGradient)
                .Output("Scale@GRAD", "scale@GRAD")
                .Build()};
  }
};

TEST_F(TrainedScales, WhatIsBetweenGradientOpsHasItsOwnType) {
  ASSERT_TRUE(quantizers_.Add(std::make_unique<MaskingQuantizer>()).ok());
  options_.config.mutable_activations()->set_quantizer("masking");
  const std::string text = PrintProgram(Transpiled(kTwoProducts).Proto());
  EXPECT_THAT(text, HasSubstr("var x.zeros f32[-1,2]\n"));
  EXPECT_THAT(text, HasSubstr("var x.mask bool[-1,2]\n"));
}

// x^2 * scale by way of doubles, with the gradient that is derived of that.
class WideQuantizer final : public LearnedQuantizer {
 public:
  absl::string_view name() const override { return "wide"; }
  std::vector<OpDesc> GradientOps(const QuantizerUse& use) const override {
    const auto cast = [](const char* x, const char* out, int from, int to) {
      return OpBuilder("cast")
          .Input("X", x)
          .Output("Out", out)
          .IntAttr("in_dtype", from)
          .IntAttr("out_dtype", to)
          .Build();
    };
    Formula formula;
    formula.inputs = {kValue, "scale"};
    formula.result = "out";
    formula.ops = {cast(kValue, "wide", VarType::FP32, VarType::FP64),
                   OpBuilder("square").Input("X", "wide").Output("Out", "squared").Build(),
                   cast("squared", "narrow", VarType::FP64, VarType::FP32),
                   OpBuilder("elementwise_mul")
                       .Input("X", "narrow")
                       .Input("Y", "scale")
                       .Output("Out", "out")
                       .IntAttr("axis", -1)
                       .Build()};
    return *GradientOpsOf(formula, use.era);
  }
};

TEST_F(TrainedScales, WhatIsBetweenDerivedGradientOpsHasItsOwnType) {
  ASSERT_TRUE(quantizers_.Add(std::make_unique<WideQuantizer>()).ok());
  options_.config.mutable_activations()->set_quantizer("wide");
  const std::string text = PrintProgram(Transpiled(kTwoProducts).Proto());
  EXPECT_THAT(text, HasSubstr("var y.wide f64[-1,2]\n"));
  EXPECT_THAT(text, HasSubstr("var y.squared@GRAD f64[-1,2]\n"));
  EXPECT_THAT(text, HasSubstr("var y.wide@GRAD f64[-1,2]\n"));
  EXPECT_THAT(text, HasSubstr("var y.narrow@GRAD f32[-1,2]\n"));
}

TEST_F(TrainedScales, APlanOfItIsFollowed) {
  Program once = ParsedProgram(kTwoProducts);
  const absl::StatusOr<TranspileResult> planned = Transpile(&once, options_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  Program program = ParsedProgram(kTwoProducts);
  TranspileOptions options;
  options.quantizers = &quantizers_;
  options.plan = &planned->plan;
  ASSERT_TRUE(Transpile(&program, options).ok());
  EXPECT_EQ(PrintProgram(program.Proto()), PrintProgram(once.Proto()));
}

struct PlantedDefect {
  const char* name;
  Edit edit;  // after train_scales
  const char* message;
};

const Op& TheOp(const Program& program, absl::string_view type) {
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == type) return op;
  }
  LOG(FATAL) << "no " << type;
}

class ScaleDefect : public TrainedScales, public testing::WithParamInterface<PlantedDefect> {};

TEST_P(ScaleDefect, IsFound) {
  PassTable passes = TrainPasses();
  ASSERT_TRUE(passes.Add(std::make_unique<WrongPass>(nullptr, GetParam().edit)).ok());
  options_.passes = &passes;
  options_.pipeline = absl::StrCat(kTrainPipeline, ",wrong");
  options_.pipeline_options.verify = false;  // so that the invariants alone speak
  Program program = ParsedProgram(kTwoProducts);
  const absl::Status status = Transpile(&program, options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(std::string(status.message()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Planted, ScaleDefect,
    testing::Values(
        PlantedDefect{"GradientPassesTheQuantizerBy",
                      [](Program& program, PassContext&) {
                        Rewriter(&program, "wrong")
                            .SetArgument(*TheOp(program, "mul_grad").Output("X@GRAD"), "y@GRAD");
                      },
                      "invariant 5: block 0, op 10 (users_fake_quantize_learned_grad) reads "
                      "\"y.quant_dequant@GRAD\" before it is written\n"
                      "invariant 7: block 0, op 9 (mul_grad) has no gradient for the quantizer in "
                      "slot X@GRAD"},
        PlantedDefect{
            "NothingWritesTheGradientOfTheValue",
            [](Program& program, PassContext&) {
              Rewriter(&program, "wrong")
                  .SetArgument(*TheOp(program, "users_fake_quantize_learned_grad").Output("X@GRAD"),
                               "@EMPTY@");
            },
            "invariant 7: no quantizer's gradient op writes \"y@GRAD\" as block 0, op 9 (mul_grad) "
            "did"},
        PlantedDefect{"NothingUpdatesAScale",
                      [](Program& program, PassContext&) {
                        Rewriter rewriter(&program, "wrong");
                        rewriter.Remove(TheOp(program, "momentum"));
                        rewriter.Remove(TheOp(program, "clip"));
                      },
                      "invariant 7: nothing updates \"x@scale\", a scale that is trained"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
