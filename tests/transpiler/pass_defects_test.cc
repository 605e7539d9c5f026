// Each built-in pass with a defect of its own, planted: the pipelines' own checks report it.

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "runtime/scope.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/wrong_pass.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_context.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

constexpr char kTraining[] = R"(
  var x f32[-1,4]
  var w f32[4,4] persistable
  var y f32[-1,4]
  var y@GRAD f32[-1,4]
  var w@GRAD f32[4,4]
  var learning_rate f32[1] persistable
  mul(X=x, Y=w) -> (Out=y)
  fill_constant() -> (Out=y@GRAD) {shape=[1L, 4L], dtype=5, value=1.0, op_role=257}
  mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1, op_role_var=["w", "w@GRAD"]}
  sgd(Param=w, Grad=w@GRAD, LearningRate=learning_rate) -> (ParamOut=w) {op_role=2}
)";

constexpr char kTrained[] = R"(
  var x f32[-1,2]
  var x.q f32[-1,2]
  var x.d f32[-1,2]
  var s f32[1] persistable
  var w f32[2,2] persistable
  var w.q f32[2,2]
  var w.d f32[2,2]
  var w.s f32[1]
  var y f32[-1,2]
  var y.seen f32[-1,2]
  var y.s f32[1] persistable
  var z f32[-1,2]
  var mask f32[-1,2]
  var w@GRAD f32[2,2]
  var learning_rate f32[1] persistable
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  feed(X=feed) -> (Out=x) {col=0}
  fake_quantize_moving_average_abs_max(X=x, InScale=s) -> (Out=x.q, OutScale=s) {bit_length=8, is_test=true}
  fake_dequantize_max_abs(X=x.q, Scale=s) -> (Out=x.d) {max_range=127.0}
  fake_quantize_abs_max(X=w) -> (Out=w.q, OutScale=w.s) {bit_length=8}
  fake_dequantize_max_abs(X=w.q, Scale=w.s) -> (Out=w.d) {max_range=127.0}
  mul(X=x.d, Y=w.d) -> (Out=y) {x_num_col_dims=1, y_num_col_dims=1}
  moving_average_abs_max_scale(X=y) -> (Out=y.seen, OutScale=y.s) {is_test=true}
  dropout(X=y.seen) -> (Out=z, Mask=mask) {dropout_implementation="upscale_in_train"}
  fetch(X=z) -> (Out=fetch) {col=0}
  fill_zeros_like(X=w) -> (Out=w@GRAD) {op_role=1}
  sgd(Param=w, Grad=w@GRAD, LearningRate=learning_rate) -> (ParamOut=w) {op_role=2}
)";
constexpr char kParameters[] = "s f32[1] 2\nw f32[2,2] 0.5 -1 0.25 0.125\ny.s f32[1] 3\n";

// The first op of a type; null where there is none.
const Op* FindOp(const Program& program, absl::string_view type) {
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == type) return &op;
  }
  return nullptr;
}

const Op& TheOp(const Program& program, absl::string_view type) {
  const Op* op = FindOp(program, type);
  CHECK(op != nullptr) << "no " << type;
  return *op;
}

struct Defect {
  const char* pass;
  const char* what;
  Edit edit;            // after the pass has run
  const char* message;  // "": no check sees it, but what the pipeline makes is another program
};

Plan& PlanOf(PassContext& context) { return dynamic_cast<TrainContext&>(context).plan; }

std::vector<Defect> TrainingDefects() {
  return {
      {"plan_quantizers", "forgets the gradients",
       [](Program&, PassContext& context) {
         for (Site& site : PlanOf(context).sites) site.gradient_readers.clear();
       },
       "error: program.txt: block 0, op 6 (mul_grad): input X reads \"x\"; want "
       "\"x.quantized.dequantized\", which block 0, op 4 (mul) reads [gradient_mismatch]\n"
       "    mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1, op_role_var=[\"w\", "
       "\"w@GRAD\"]}\n [after insert_quantizers]"},
      {"insert_quantizers", "forgets a reader",
       [](Program& program, PassContext& context) {
         Rewriter(&program, "wrong").SetArgument(*PlanOf(context).sites.back().readers.back(), "w");
       },
       "error: program.txt: block 0, op 6 (mul_grad): input Y reads \"w.quantized.dequantized\"; "
       "want \"w\", which block 0, op 4 (mul) reads [gradient_mismatch]\n"
       "    mul_grad(X=x.quantized.dequantized, Y=w.quantized.dequantized, Out@GRAD=y@GRAD) -> "
       "(Y@GRAD=w@GRAD) {op_role=1, op_role_var=[\"w\", \"w@GRAD\"], "
       "fixpoint.rewired=[\"X.0=x\", \"Y.0=w\"]}\n [after wrong]"},
      {"initialize_state", "forgets a state",
       [](Program&, PassContext& context) {
         Program& startup = *context.startup_program();
         Rewriter(&startup, "wrong").Remove(*startup.block(0).first_op());
       },
       "invariant 4: \"w@scale\" is initialised 0 times in the startup program"},
  };
}

std::vector<Defect> InferenceDefects() {
  return {
      {"strip_training", "keeps an op of training",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetAttr(TheOp(program, "mul"), MakeIntAttr("op_role", kBackward));
       },
       "program.txt: invariant 1 of programs for inference: block 0, op 4 (mul) is of training: "
       "its "
       "op_role is 1"},
      {"set_test_mode", "forgets an op",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetAttr(TheOp(program, "dropout"), MakeBoolAttr("is_test", false));
       },
       "program.txt: invariant 2 of programs for inference: block 0, op 6 (dropout) is in training "
       "mode"},
      {"freeze_observers", "takes the copy that is read with the observer",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").Remove(TheOp(program, "assign"));
       },
       "error: program.txt: block 0, op 6 (dropout): input X reads \"y.seen\", which "
       "no "
       "op writes and no feed op fills [unreached_read]\n"
       "    dropout(X=y.seen) -> (Out=z, Mask=mask) {dropout_implementation=\"upscale_in_train\", "
       "is_test=true}\n [after wrong]"},
      {"prune_to_inference", "removes an op that is needed",
       [](Program& program, PassContext&) {
         const Op* op = FindOp(program, "mul");
         if (op != nullptr) Rewriter(&program, "wrong").Remove(*op);
       },
       "error: program.txt: block 0, op 5 (assign): input X reads \"y\", which no op "
       "writes and no feed op fills [unreached_read]\n"
       "    assign(X=y) -> (Out=y.seen) {op_role=0, "
       "fixpoint.inserted_by=\"freeze_observers\"}\n [after wrong]"},
      {"fold_formulas", "removes an op that computes no constant",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").Remove(TheOp(program, "fake_quantize_abs_max"));
       },
       "program.txt: block 0, op 4 (fake_dequantize_max_abs): reads \"w.q\", which block 0, op 3 "
       "(fake_quantize_abs_max) computes; a program for inference has no such op [in "
       "freeze_scales]"},
      {"freeze_scales", "takes codes back at another scale",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetArgument(*TheOp(program, "dequantize_linear").Input("Scale"), "y.s");
       },
       "program.txt: block 0, op 2 (dequantize_linear): takes codes of block 0, op 1 "
       "(quantize_linear) back at another scale than \"s\" [in quantize_weights]"},
      {"quantize_weights", "leaves a weight to be quantized at every run",
       [](Program& program, PassContext&) {
         Rewriter rewriter(&program, "wrong");
         for (const Op& op : program.block(0).ops()) {
           if (op.type() != "dequantize_linear" || op.Output("Y")->name() != "w.d") continue;
           rewriter.InsertBefore(op, OpBuilder("fake_quantize_dequantize_abs_max")
                                         .Input("X", "w")
                                         .Output("Out", "w.d")
                                         .Output("OutScale", "w.s")
                                         .Build());
           rewriter.Remove(op);
           return;
         }
         LOG(FATAL) << "no codes of w";
       },
       "program.txt: invariant 4 of programs for inference: block 0, op 3 "
       "(fake_quantize_dequantize_abs_max) quantizes the parameter \"w\""},
      {"quantize_biases", "leaves a bias to be rounded at every run",
       [](Program& program, PassContext&) {
         Rewriter rewriter(&program, "wrong");
         const Op& op = TheOp(program, "mul");
         (void)rewriter.AddVariable(program.block(0), MakeTensorVar("b.d", VarType::FP32, {1}));
         (void)rewriter.AddVariable(program.block(0), MakeTensorVar("sum", VarType::FP32, {-1, 2}));
         rewriter.InsertBefore(op, OpBuilder("fake_quantize_dequantize_bias")
                                       .Input("X", "s")
                                       .Input("InputScale", "s")
                                       .Input("WeightScale", "s")
                                       .Output("Out", "b.d")
                                       .IntAttr("input_largest_code", 127)
                                       .IntAttr("weight_largest_code", 127)
                                       .Build());
         rewriter.InsertBefore(op, OpBuilder("elementwise_add")
                                       .Input("X", "x.d")
                                       .Input("Y", "b.d")
                                       .Output("Out", "sum")
                                       .IntAttr("axis", -1)
                                       .Build());
         rewriter.SetArgument(*op.Input("X"), "sum");
       },
       "program.txt: invariant 4 of programs for inference: block 0, op 4 "
       "(fake_quantize_dequantize_bias) quantizes the parameter \"s\""},
      {"remove_dead_variables", "leaves one",
       [](Program& program, PassContext&) {
         (void)Rewriter(&program, "wrong")
             .AddVariable(program.block(0), MakeTensorVar("dead", VarType::FP32, {1}));
       },
       ""},
      {"dequantize_products", "hands a product of codes on",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").SetArgument(*TheOp(program, "assign").Input("X"), "y.codes");
       },
       "program.txt: invariant 5 of programs for inference: block 0, op 3 (assign) reads "
       "\"y.codes\", a product of codes"},
  };
}

// A pipeline with "wrong" in the place of a pass, which then does what that does and the edit.
struct WrongPipeline {
  WrongPipeline(const Defect& defect, absl::string_view pipeline, PassTable built_in)
      : passes(std::move(built_in)), text(absl::StrReplaceAll(pipeline, {{defect.pass, "wrong"}})) {
    const Pass* pass = passes.Find(defect.pass);
    CHECK(pass != nullptr && absl::StrContains(text, "wrong")) << defect.pass;
    CHECK(passes.Add(std::make_unique<WrongPass>(pass, defect.edit)).ok());
  }

  PassTable passes;
  std::string text;
};

TEST(PassDefects, OfTrainingPassesAreReported) {
  for (const Defect& defect : TrainingDefects()) {
    SCOPED_TRACE(std::string(defect.pass) + " " + defect.what);
    const WrongPipeline wrong(defect, kTrainPipeline, TrainPasses());
    TranspileOptions options;
    options.config.mutable_weights()->set_quantizer("abs_max");
    options.config.mutable_activations()->set_quantizer("abs_max");
    options.passes = &wrong.passes;
    options.pipeline = wrong.text;
    Program program = ParsedProgram(kTraining);
    EXPECT_EQ(std::string(Transpile(&program, options).status().message()), defect.message);
    EXPECT_EQ(PrintProgram(program.Proto()), PrintProgram(ParsedProgram(kTraining).Proto()));
  }
}

TEST(PassDefects, OfInferencePassesAreReported) {
  const Program program = ParsedProgram(kTrained);
  const absl::StatusOr<Scope> scope = ParseParameters(kParameters, "parameters");
  ASSERT_TRUE(scope.ok()) << scope.status();
  for (const Defect& defect : InferenceDefects()) {
    SCOPED_TRACE(std::string(defect.pass) + " " + defect.what);
    FreezeOptions options;
    const bool is_legacy = !absl::StrContains(kFreezePipeline, defect.pass);
    options.form = is_legacy ? FrozenForm::kLegacy : FrozenForm::kPortable;
    const absl::StatusOr<FrozenModel> right = Freeze(program, *scope, options);
    ASSERT_TRUE(right.ok()) << right.status();

    const WrongPipeline wrong(defect, is_legacy ? kLegacyFreezePipeline : kFreezePipeline,
                              FreezePasses());
    options.passes = &wrong.passes;
    options.pipeline = wrong.text;
    const absl::StatusOr<FrozenModel> model = Freeze(program, *scope, options);
    EXPECT_EQ(std::string(model.status().message()), defect.message);
    if (model.ok()) {
      EXPECT_NE(PrintProgram(model->program.Proto()), PrintProgram(right->program.Proto()));
    }
  }
}

void ExpectPlantedInEvery(const PassTable& passes, const std::vector<Defect>& defects) {
  for (const auto& pass : passes.all()) {
    // What such a pass edits no pipeline checks; its goldens do.
    if (!pass->IsHeldToPlan()) continue;
    EXPECT_TRUE(std::any_of(defects.begin(), defects.end(), [&pass](const Defect& defect) {
      return pass->name() == defect.pass;
    })) << pass->name();
  }
}

TEST(PassDefects, ArePlantedInEveryPass) {
  std::vector<Defect> of_inference = InferenceDefects();
  ExpectPlantedInEvery(FreezePasses(), of_inference);
  std::vector<Defect> of_training = TrainingDefects();
  // The passes over any program are run in a freeze.
  std::move(of_inference.begin(), of_inference.end(), std::back_inserter(of_training));
  ExpectPlantedInEvery(TrainPasses(), of_training);
}

}  // namespace
}  // namespace fixpoint
