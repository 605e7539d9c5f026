// Changing ops and declarations: arguments, attributes, variables and their names.

#include "proto/program/rewriter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/proto/program/rewriter_fixture.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(RewriterTest, AnArgumentBecomesAnotherName) {
  const Argument& argument = *OpAt(program_, 0).Input("X");
  rewriter_.SetArgument(argument, "w");
  EXPECT_EQ(argument.variable(), program_.Find(program_.block(0), "w"));
  EXPECT_FALSE(program_.Find(program_.block(0), "x")->is_used());
  EXPECT_TRUE(OpAt(program_, 0).changed());
  rewriter_.SetArgument(argument, kEmptyArgument);
  EXPECT_EQ(argument.variable(), nullptr);
  EXPECT_EQ(Ops(program_).substr(0, 31), "relu(X=@EMPTY@) -> (Out=a)\nsum(");
}

TEST_F(RewriterTest, ReadsAreRedirectedToAVariable) {
  const Argument& read = *OpAt(program_, 0).Input("X");
  const Variable& w = *program_.Find(program_.block(0), "w");
  ASSERT_TRUE(rewriter_.RedirectReads({&read}, w).ok());
  EXPECT_EQ(read.variable(), &w);
}

TEST(RedirectReads, RefusesAVariableThatAnotherOneHides) {
  Program program = ParsedProgram(R"(
    block 0 {
      var x f32[4]
      var h f32[4]
      while(X=[x], Condition=c) -> (Out=[x], StepScopes=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      var h f32[4]
      relu(X=x) -> (Out=x)
    }
  )");
  Rewriter rewriter(&program, "test");
  const Argument& read = *program.block(1).first_op()->Input("X");
  const absl::Status status = rewriter.RedirectReads({&read}, *program.Find(program.block(0), "h"));
  EXPECT_EQ(std::string(status.message()),
            "block 1, op 0 (relu): is to read \"h\" of block 0, and that name means another "
            "variable there");
  EXPECT_EQ(program.edit_count(), 0);
}

TEST(RedirectReads, RefusesAValueThatIsNotThere) {
  Program program = ParsedProgram(R"(
    var x f32[4]
    var h f32[4]
    relu(X=x) -> (Out=h)
    tanh(X=x) -> (Out=y)
    relu(X=h) -> (Out=h)
    tanh(X=x) -> (Out=z)
  )");
  Rewriter rewriter(&program, "test");
  const Value& first = *program.block(0).first_op()->Output("Out")->value();
  const Argument& early = *program.block(0).first_op()->next()->Input("X");
  const Argument& late = *program.block(0).last_op()->Input("X");
  const absl::Status status = rewriter.RedirectReads({&early, &late}, first);
  EXPECT_EQ(std::string(status.message()),
            "block 0, op 3 (tanh): is to read a value of \"h\", which holds another one there");
  EXPECT_EQ(early.name(), "x");
  EXPECT_EQ(late.name(), "x");
  ASSERT_TRUE(rewriter.RedirectReads({&early}, first).ok());
  EXPECT_EQ(early.value(), &first);
}

TEST_F(RewriterTest, KnowsWhichPassesEditedWhat) {
  const Op& relu = OpAt(program_, 0);
  Rewriter second(&program_, "second");
  rewriter_.SetAttr(relu, MakeIntAttr("a", 1));
  second.RemoveOutputs(relu, "Out");
  second.Remove(OpAt(program_, 1));
  EXPECT_TRUE(relu.EditedBy("test"));
  EXPECT_TRUE(relu.EditedBy("second"));
  EXPECT_FALSE(relu.EditedBy("third"));
  EXPECT_TRUE(program_.block(0).removed_ops().front()->EditedBy("second"));
  EXPECT_FALSE(program_.block(0).removed_ops().front()->EditedBy("test"));
}

TEST_F(RewriterTest, SettingANameThatIsThereIsNoEdit) {
  rewriter_.SetArgument(*OpAt(program_, 0).Input("X"), "x");
  EXPECT_EQ(program_.edit_count(), 0);
  EXPECT_FALSE(program_.edited());
}

TEST_F(RewriterTest, ArgumentsAreAddedAtTheEndOfTheirSlot) {
  const Op& sum = OpAt(program_, 1);
  rewriter_.AddInput(sum, "X", "x");
  rewriter_.AddInput(sum, "Mask", "x");
  rewriter_.AddOutput(sum, "Out", "c");
  EXPECT_EQ(PrintOp(sum.desc()), "sum(X=[a, w, x], Mask=x) -> (Out=[b, c]) {axis=1, name=\"s\"}");
  std::vector<std::string> names;
  for (const Argument* argument : sum.inputs()) names.emplace_back(argument->name());
  EXPECT_THAT(names, ElementsAre("a", "w", "x", "x"));
  EXPECT_EQ(sum.Inputs("X").size(), 3);
  EXPECT_EQ(sum.Input("Mask")->variable(), program_.Find(program_.block(0), "x"));
}

TEST_F(RewriterTest, SlotsAndArgumentsAreTakenAway) {
  const Op& sum = OpAt(program_, 1);
  rewriter_.RemoveLastArgument(sum, /*is_input=*/true, "X");
  EXPECT_EQ(PrintOp(sum.desc()), "sum(X=a) -> (Out=b) {axis=1, name=\"s\"}");
  EXPECT_FALSE(program_.Find(program_.block(0), "w")->is_used());
  rewriter_.RemoveOutputs(sum, "Out");
  rewriter_.RemoveInputs(sum, "X");
  EXPECT_THAT(sum.inputs(), IsEmpty());
  EXPECT_EQ(PrintOp(sum.desc()), "sum() {axis=1, name=\"s\"}");
  const int edits = program_.edit_count();
  rewriter_.RemoveInputs(sum, "X");
  EXPECT_EQ(program_.edit_count(), edits) << "there is no such slot";
}

TEST_F(RewriterTest, HandlesOfOtherSlotsStayWhenOneIsTakenAway) {
  const Op& sum = OpAt(program_, 1);
  rewriter_.AddInput(sum, "Mask", "x");
  rewriter_.AddInput(sum, "Bias", "w");
  const Argument& a = *sum.Inputs("X")[0];
  const Argument& bias = *sum.Input("Bias");
  rewriter_.RemoveLastArgument(sum, /*is_input=*/true, "X");
  rewriter_.RemoveInputs(sum, "Mask");
  EXPECT_EQ(PrintOp(sum.desc()), "sum(X=a, Bias=w) -> (Out=b) {axis=1, name=\"s\"}");
  EXPECT_EQ(sum.Inputs("X")[0], &a);
  EXPECT_EQ(sum.Input("Bias"), &bias);
  EXPECT_EQ(bias.slot_name(), "Bias");
  EXPECT_EQ(bias.name(), "w");
  EXPECT_NE(bias.value(), nullptr);
}

TEST_F(RewriterTest, AttributesKeepTheirPlace) {
  const Op& sum = OpAt(program_, 1);
  rewriter_.SetAttr(sum, MakeIntAttr("axis", 2));
  rewriter_.SetAttr(sum, MakeFloatAttr("new", 0.5f));
  EXPECT_EQ(PrintOp(sum.desc()), "sum(X=[a, w]) -> (Out=b) {axis=2, name=\"s\", new=0.5}");
  rewriter_.RemoveAttr(sum, "axis");
  rewriter_.RemoveAttr(sum, "no such");
  EXPECT_EQ(PrintOp(sum.desc()), "sum(X=[a, w]) -> (Out=b) {name=\"s\", new=0.5}");
  EXPECT_EQ(program_.edit_count(), 3);
}

TEST_F(RewriterTest, AVariableIsDeclaredOnce) {
  const auto added =
      rewriter_.AddVariable(program_.block(0), MakeTensorVar("v", VarType::FP32, {2}));
  ASSERT_TRUE(added.ok());
  EXPECT_TRUE((*added)->inserted());
  EXPECT_EQ(program_.Find(program_.block(0), "v"), *added);
  for (const char* name : {"v", "x", "a"}) {  // new, declared, and used though not declared
    const absl::Status status =
        rewriter_.AddVariable(program_.block(0), MakeTensorVar(name, VarType::FP32, {2})).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(std::string(status.message()),
              "block 0: \"" + std::string(name) +
                  "\" cannot be declared: the name is in use; FreshName gives one that is not");
  }
}

TEST_F(RewriterTest, ADeclarationIsReplacedOrRemoved) {
  const Variable& x = *program_.Find(program_.block(0), "x");
  rewriter_.SetVariable(x, MakeTensorVar("x", VarType::FP64, {4}));
  EXPECT_TRUE(x.changed());
  EXPECT_EQ(x.tensor()->data_type(), VarType::FP64);
  rewriter_.SetArgument(*OpAt(program_, 0).Input("X"), "w");
  rewriter_.Remove(x);
  EXPECT_EQ(program_.Find(program_.block(0), "x"), nullptr);
  EXPECT_EQ(program_.Proto().blocks(0).vars_size(), 1);
  EXPECT_TRUE(
      rewriter_.AddVariable(program_.block(0), MakeTensorVar("x", VarType::FP32, {1})).ok());
}

// A program may write one slot twice, the first time with nothing in it.
TEST(Rewriter, AddsToTheSlotThatIsRead) {
  Program program = ParsedProgram(R"(
    sum(X=[], X=[x, y]) -> (Out=[], Out=b)
    sum(X=[]) -> (Out=b)
  )");
  Rewriter rewriter(&program, "test");
  rewriter.AddInput(OpAt(program, 0), "X", "z");
  rewriter.AddOutput(OpAt(program, 0), "Out", "c");
  rewriter.AddInput(OpAt(program, 1), "X", "z");
  EXPECT_EQ(Ops(program),
            "sum(X=[], X=[x, y, z]) -> (Out=[], Out=[b, c])\n"
            "sum(X=z) -> (Out=b)\n");
  EXPECT_EQ(OpAt(program, 0).Inputs("X")[2]->name(), "z");
  rewriter.RemoveInputs(OpAt(program, 0), "X");
  EXPECT_EQ(Ops(program).substr(0, 40), "sum(X=[]) -> (Out=[], Out=[b, c])\nsum(X=");
  program.RevertEdits();
  EXPECT_EQ(Ops(program),
            "sum(X=[], X=[x, y]) -> (Out=[], Out=b)\n"
            "sum(X=[]) -> (Out=b)\n");
}

// Walking the edits of an op for each of its arguments would not finish.
TEST(Rewriter, RenamesManyArgumentsOfOneOp) {
  constexpr int kArguments = 200000;
  std::vector<std::string> names;
  for (int i = 0; i < kArguments; ++i) names.push_back("x" + std::to_string(i));
  ProgramDesc desc = ParsedProgram("sum() -> (Out=y)").Proto();
  *desc.mutable_blocks(0)->mutable_ops(0) =
      OpBuilder("sum").Input("X", names).Output("Out", "y").Build();
  Program program = *Program::Create(desc);
  Rewriter rewriter(&program, "test");
  for (const char* name : {"a", "b"}) {
    for (const Argument* argument : OpAt(program, 0).inputs()) {
      rewriter.SetArgument(*argument, name);
    }
  }
  EXPECT_EQ(program.Proto().blocks(0).ops(0).inputs(0).arguments(kArguments - 1), "b");
  program.RevertEdits();
  EXPECT_EQ(program.Proto().SerializeAsString(), desc.SerializeAsString());
}

TEST(FreshName, IsInNoBlockAndGivenOnce) {
  Program program = ParsedProgram(R"(
    block 0 {
      relu(X=x) -> (Out=y) {threshold=var(p)}
    }
    block 1 parent=0 {
      var x_1 f32[4]
    }
  )");
  Rewriter rewriter(&program, "test");
  EXPECT_EQ(rewriter.FreshName("z"), "z");
  EXPECT_EQ(rewriter.FreshName("z"), "z_1");
  EXPECT_EQ(rewriter.FreshName("x"), "x_2") << "another block has x_1";
  EXPECT_EQ(rewriter.FreshName("y"), "y_1") << "y is used, though nobody declares it";
  EXPECT_EQ(rewriter.FreshName("z_1"), "z_1_1") << "z_1 was given out";
  EXPECT_EQ(rewriter.FreshName("p"), "p_1") << "an attribute names p";
}

TEST(FreshName, IsTheSameForTheSameEdits) {
  Program program = ParsedProgram("relu(X=x) -> (Out=y)");
  EXPECT_EQ(Rewriter(&program, "test").FreshName("x"), "x_1");
  program.ForgetEdits();
  EXPECT_EQ(Rewriter(&program, "test").FreshName("x"), "x_1");
}

// A counter that restarts for each name would make this quadratic.
TEST(FreshName, OfOneBaseIsCheap) {
  Program program = ParsedProgram("relu(X=x) -> (Out=y)");
  Rewriter rewriter(&program, "test");
  std::string name;
  for (int i = 0; i < 100000; ++i) name = rewriter.FreshName("x");
  EXPECT_EQ(name, "x_100000");
}

}  // namespace
}  // namespace fixpoint
