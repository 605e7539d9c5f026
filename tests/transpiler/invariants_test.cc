// Planted defects: for each invariant passes that break it.

#include "transpiler/train/invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/wrong_pass.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

constexpr char kTrainingProgram[] = R"(
  var x f32[-1,4]
  var w f32[4,4] persistable is_parameter
  var y f32[-1,4]
  var z f32[-1,4]
  var unused f32[1]
  var learning_rate f32[1] persistable
  var @STEP_COUNTER@ i64[1] persistable
  var z@GRAD f32[-1,4]
  var y@GRAD f32[-1,4]
  var x@GRAD f32[-1,4]
  var w@GRAD f32[4,4]
  mul(X=x, Y=w) -> (Out=y)
  tanh(X=y) -> (Out=z)
  fill_constant() -> (Out=z@GRAD) {shape=[1L, 4L], dtype=5, value=1.0, op_role=257}
  tanh_grad(Out=z, Out@GRAD=z@GRAD) -> (X@GRAD=y@GRAD) {op_role=1}
  mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (X@GRAD=x@GRAD, Y@GRAD=w@GRAD) {op_role=1, op_role_var=["w", "w@GRAD"]}
  sgd(Param=w, Grad=w@GRAD, LearningRate=learning_rate) -> (ParamOut=w) {op_role=2, op_role_var=["w", "w@GRAD"]}
)";

const Op& TheOp(const Program& program, absl::string_view type) {
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == type) return op;
  }
  LOG(FATAL) << "no " << type;
}

const Op& QuantizeOpOf(const Program& program, absl::string_view variable) {
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == "fake_quantize_abs_max" && op.Input("X")->name() == variable) return op;
  }
  LOG(FATAL) << "no quantizer of " << variable;
}

// What Transpile says of its pipeline with a wrong pass after. The program must then be as before.
std::string ErrorOf(const Edit& edit) {
  PassTable passes = TrainPasses();
  EXPECT_TRUE(passes.Add(std::make_unique<WrongPass>(nullptr, edit)).ok());
  Program program = ParsedProgram(kTrainingProgram);
  const std::string bytes = program.Proto().SerializeAsString();
  TranspileOptions options;
  options.config.mutable_weights()->set_quantizer("abs_max");
  options.config.mutable_activations()->set_quantizer("abs_max");
  options.passes = &passes;
  options.pipeline = absl::StrCat(kTrainPipeline, ",wrong");
  options.pipeline_options.verify = false;  // so that the invariants alone speak
  const absl::Status status = Transpile(&program, options).status();
  if (!status.ok()) {
    EXPECT_EQ(program.Proto().SerializeAsString(), bytes) << "the program was left changed";
  }
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInternal) << status;
  return std::string(status.message());
}

TEST(Invariants, HoldWithoutADefect) {
  EXPECT_EQ(ErrorOf([](Program&, PassContext&) {}), "");
}

struct PlantedDefect {
  const char* name;
  Edit edit;  // after the whole training pipeline
  const char* message;
};

std::vector<PlantedDefect> PlantedDefects() {
  return {
      {"GradientIsRewiredToTheFloatWeight",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").SetArgument(*TheOp(program, "mul_grad").Input("Y"), "w");
       },
       "invariant 1: block 0, op 8 (mul_grad) reads \"w\" in slot Y where block 0, op 4 (mul) "
       "reads \"w.quantized.dequantized\"\n"
       "invariant 3: block 0, op 8 (mul_grad) reads w in slot Y, not the quantized w"},
      {"GradientReadsAnotherQuantizedValueInASlotOfItsOwn",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetArgument(*TheOp(program, "mul_grad").Input("Out@GRAD"), "z@GRAD");
       },
       "invariant 1: block 0, op 8 (mul_grad) reads \"z@GRAD\" in slot Out@GRAD, which the plan "
       "does not name"},
      {"OptimizerUpdatesTheQuantizedWeight",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetArgument(*TheOp(program, "sgd").Input("Param"), "w.quantized.dequantized");
       },
       "invariant 1: block 0, op 9 (sgd) reads \"w.quantized.dequantized\" in slot Param, which "
       "the plan does not name\n"
       "invariant 2: block 0, op 9 (sgd) was changed\n"
       "invariant 3: block 0, op 9 (sgd) reads \"w.quantized.dequantized\", which the plan does "
       "not say"},
      {"OpRoleVarIsEdited",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetAttr(TheOp(program, "mul_grad"),
                      MakeStringsAttr("op_role_var", {"w.quantized", "w@GRAD"}));
       },
       "invariant 2: block 0, op 8 (mul_grad): op_role_var was edited"},
      {"ForwardReadsTheFloatWeight",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").SetArgument(*TheOp(program, "mul").Input("Y"), "w");
       },
       "invariant 1: block 0, op 8 (mul_grad) reads \"w.quantized.dequantized\" in slot Y where "
       "block 0, op 4 (mul) reads \"w\"\n"
       "invariant 3: block 0, op 8 (mul_grad) reads w.quantized.dequantized in slot Y, not the "
       "quantized w\n"
       "invariant 3: \"w\" has no quantizer"},
      {"OneValueHasTwoQuantizers",
       [](Program& program, PassContext&) {
         Rewriter rewriter(&program, "wrong");
         OpDesc quantize = QuantizeOpOf(program, "w").desc();
         OpDesc dequantize = QuantizeOpOf(program, "w").next()->desc();
         for (const char* name : {"w.again", "w.again.dequantized"}) {
           (void)rewriter.AddVariable(program.block(0), MakeTensorVar(name, VarType::FP32, {4, 4}));
         }
         quantize.mutable_outputs(0)->set_arguments(0, "w.again");
         dequantize.mutable_inputs(0)->set_arguments(0, "w.again");
         dequantize.mutable_outputs(0)->set_arguments(0, "w.again.dequantized");
         rewriter.Prepend(program.block(0), std::move(dequantize));
         rewriter.Prepend(program.block(0), std::move(quantize));
         rewriter.SetArgument(*TheOp(program, "mul_grad").Input("Y"), "w.again.dequantized");
       },
       "invariant 1: block 0, op 10 (mul_grad) reads \"w.again.dequantized\" in slot Y where block "
       "0, op 6 (mul) reads \"w.quantized.dequantized\"\n"
       "invariant 3: block 0, op 10 (mul_grad) reads w.again.dequantized in slot Y, not the "
       "quantized w"},
      {"AnOpThatThePlanDoesNotNameReadsTheQuantizedValue",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetArgument(*TheOp(program, "tanh").Input("X"), "x.quantized.dequantized");
       },
       "invariant 3: block 0, op 5 (tanh) reads \"x.quantized.dequantized\", which the plan does "
       "not say\n"
       "invariant 6: block 0, op 5 (tanh) reads \"x.quantized.dequantized\" in slot X, which the "
       "plan does not name"},
      {"TheQuantizerReadsAnotherVariable",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").SetArgument(*QuantizeOpOf(program, "x").Input("X"), "z");
       },
       "invariant 3: \"x.quantized.dequantized\" is not made of the value of \"x\" that the plan "
       "quantizes"},
      {"AQuantizerIsThereThatNobodyReads",
       [](Program& program, PassContext&) {
         Rewriter rewriter(&program, "wrong");
         OpDesc quantize = QuantizeOpOf(program, "w").desc();
         for (OpDesc::Var& output : *quantize.mutable_outputs()) {
           const std::string name = output.arguments(0) + ".again";
           (void)rewriter.AddVariable(program.block(0), MakeTensorVar(name, VarType::FP32, {4, 4}));
           output.set_arguments(0, name);
         }
         rewriter.Prepend(program.block(0), std::move(quantize));
       },
       "invariant 3: block 0, op 0 (fake_quantize_abs_max) is new, and belongs to no quantizer of "
       "the plan"},
      {"ANewOpNamesAVariableThatNobodyDeclares",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .Prepend(program.block(0),
                      OpBuilder("scale").Input("X", "x").Output("Out", "nowhere").Build());
       },
       "invariant 4: block 0, op 0 (scale): no block declares \"nowhere\"\n"
       "invariant 6: block 0, op 0 (scale) is new and writes \"nowhere\", which is not"},
      {"ANewVariableIsNoTensor",
       [](Program& program, PassContext&) {
         Rewriter rewriter(&program, "wrong");
         VarDesc var;
         var.set_name("scopes");
         var.mutable_type()->set_type(VarType::STEP_SCOPES);
         (void)rewriter.AddVariable(program.block(0), var);
         rewriter.Prepend(program.block(0),
                          OpBuilder("scale").Input("X", "x").Output("Out", "scopes").Build());
       },
       "invariant 4: \"scopes\" is declared without a tensor"},
      {"NewStateIsNotInitialised",
       [](Program& program, PassContext&) {
         VarDesc var = MakeTensorVar("state", VarType::FP32, {1});
         var.set_persistable(true);
         (void)Rewriter(&program, "wrong").AddVariable(program.block(0), var);
       },
       "invariant 4: \"state\" is initialised 0 times in the startup program"},
      {"NewStateIsInitialisedTwice",
       [](Program&, PassContext& context) {
         Program& startup = *context.startup_program();
         const Op& first = *startup.block(0).first_op();
         Rewriter(&startup, "wrong").Append(startup.block(0), first.desc());
       },
       "invariant 4: \"w@scale\" is initialised 2 times in the startup program"},
      {"TheQuantizerStandsAfterItsReader",
       [](Program& program, PassContext&) {
         Rewriter rewriter(&program, "wrong");
         const Op& dequantize = *QuantizeOpOf(program, "w").next();
         const OpDesc desc = dequantize.desc();
         rewriter.Remove(dequantize);
         rewriter.Append(program.block(0), desc);
       },
       "invariant 3: \"w.quantized.dequantized\" is not made of the value of \"w\" that the plan "
       "quantizes\n"
       "invariant 5: block 0, op 3 (mul) reads \"w.quantized.dequantized\" before it is written\n"
       "invariant 5: block 0, op 7 (mul_grad) reads \"w.quantized.dequantized\" before it is "
       "written"},
      {"ANewOpIsBackward",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetAttr(QuantizeOpOf(program, "w"), MakeIntAttr("op_role", kBackward));
       },
       "invariant 5: block 0, op 2 (fake_quantize_abs_max) has op_role 1; new ops belong to the "
       "forward part"},
      {"AnOpIsRemoved",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").Remove(TheOp(program, "fill_constant"));
       },
       "invariant 6: block 0: an op was removed: fill_constant"},
      {"AnUnrelatedOpIsRewired",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").SetArgument(*TheOp(program, "tanh").Input("X"), "x");
       },
       "invariant 6: block 0, op 5 (tanh) reads \"x\" in slot X, which the plan does not name"},
      {"AnUnrelatedAttributeIsChanged",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetAttr(TheOp(program, "fill_constant"), MakeFloatAttr("value", 2));
       },
       "invariant 6: block 0, op 6 (fill_constant): attribute value is not as before"},
      {"AnArgumentIsAdded",
       [](Program& program, PassContext&) {
         Rewriter rewriter(&program, "wrong");
         rewriter.AddInput(TheOp(program, "tanh"), "X", "x");
         rewriter.AddOutput(TheOp(program, "tanh"), "Extra", "y");
       },
       "invariant 6: block 0, op 5 (tanh) writes \"y\" where it wrote \"\"\n"
       "invariant 6: block 0, op 5 (tanh) reads \"x\" in slot X, which the plan does not name"},
      {"AnUnrelatedOpIsMarked",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetAttr(TheOp(program, "tanh"), MakeBoolAttr("with_quant_attr", true));
       },
       "invariant 6: block 0, op 5 (tanh): attribute with_quant_attr is not as before"},
      {"AnOpWritesElsewhere",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").SetArgument(*TheOp(program, "tanh").Output("Out"), "y");
       },
       "invariant 6: block 0, op 5 (tanh) writes \"y\" where it wrote \"z\""},
      {"AVariableIsDeclaredAnew",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .SetVariable(*program.Find(program.block(0), "y"),
                          MakeTensorVar("y", VarType::FP64, {-1, 4}));
       },
       "invariant 6: \"y\" was declared anew"},
      {"AVariableIsRemoved",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong").Remove(*program.Find(program.block(0), "unused"));
       },
       "invariant 6: block 0: \"unused\" was removed"},
      {"ANewOpOverwritesAWeight",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .Append(program.block(0),
                     OpBuilder("scale").Input("X", "w").Output("Out", "w").Build());
       },
       "invariant 6: block 0, op 10 (scale) is new and writes \"w\", which is not"},
      {"ANewOpCountsWithTheProgramsOwnCounter",
       [](Program& program, PassContext&) {
         Rewriter(&program, "wrong")
             .Append(program.block(0), OpBuilder("increment")
                                           .Input("X", "@STEP_COUNTER@")
                                           .Output("Out", "@STEP_COUNTER@")
                                           .Build());
       },
       "invariant 6: block 0, op 10 (increment) is new and writes \"@STEP_COUNTER@\", which is "
       "not"},
  };
}

class InvariantsTest : public testing::TestWithParam<PlantedDefect> {};

TEST_P(InvariantsTest, DefectIsFound) { EXPECT_EQ(ErrorOf(GetParam().edit), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(Planted, InvariantsTest, testing::ValuesIn(PlantedDefects()),
                         [](const auto& info) { return std::string(info.param.name); });

// A check that looks at all readers for each of them takes minutes.
TEST(Invariants, AreCheckedInTimeLinearInTheReadersOfAValue) {
  std::string text = R"(
    var x f32[-1,4]
    var w f32[4,4] persistable
  )";
  constexpr int kProducts = 5000;
  for (int i = 0; i < kProducts; ++i) {
    absl::StrAppend(&text, "var y", i, " f32[-1,4]\nmul(X=x, Y=w) -> (Out=y", i, ")\n");
  }
  Program program = ParsedProgram(text);
  const auto result = Transpile(&program);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->plan.sites_size(), 2);
  for (const auto& site : result->plan.sites()) EXPECT_EQ(site.readers_size(), kProducts);
}

// Drops what 1.x's tools leave in every program; no plan says so.
class DropCallStacks final : public Pass {
 public:
  explicit DropCallStacks(bool held) : held_(held) {}

  absl::string_view name() const override { return "drop"; }
  absl::string_view doc() const override { return "Edits what no plan names."; }
  bool IsHeldToPlan() const override { return held_; }
  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    for (const Op& op : program.block(0).ops()) {
      if (op.type() == "tanh" || op.type() == "sgd") rewriter.SetAttr(op, MakeIntAttr("seen", 1));
      if (op.type() == "fill_constant") rewriter.Remove(op);
    }
    rewriter.Remove(*program.Find(program.block(0), "unused"));
    return absl::OkStatus();
  }

 private:
  const bool held_;
};

class UsersPass : public testing::TestWithParam<const char*> {};

TEST_P(UsersPass, MayEditWhatNoPlanNamesIfItSaysSo) {
  for (const bool held : {true, false}) {
    PassTable passes = TrainPasses();
    ASSERT_TRUE(passes.Add(std::make_unique<DropCallStacks>(held)).ok());
    Program program = ParsedProgram(kTrainingProgram);
    const std::string bytes = program.Proto().SerializeAsString();
    TranspileOptions options;
    options.passes = &passes;
    options.pipeline = absl::StrReplaceAll(GetParam(), {{"train", kTrainPipeline}});
    const absl::Status status = Transpile(&program, options).status();
    EXPECT_EQ(status.ok(), !held) << status;
    if (held) continue;
    EXPECT_EQ(program.Find(program.block(0), "unused"), nullptr);
    ASSERT_TRUE(Untranspile(&program).ok());
    EXPECT_EQ(program.Proto().SerializeAsString(), bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(BeforeAndAfterTheOthers, UsersPass,
                         testing::Values("drop,train", "train,drop"));

}  // namespace
}  // namespace fixpoint
