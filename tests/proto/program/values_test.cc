// What each read reads. Values are told by where they come from and who reads them; an op is
// "block.op".

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

std::string Place(const Op& op) { return absl::StrCat(op.block().index(), ".", op.Index()); }

std::string Text(const Value& value) {
  switch (value.origin()) {
    case Value::Origin::kEntry:
      return "entry";
    case Value::Origin::kWrite:
      return absl::StrCat("write of ", Place(*value.op()));
    case Value::Origin::kLoopHead:
      return absl::StrCat("loop head of ", Place(*value.op()));
    case Value::Origin::kExit:
      return absl::StrCat("exit of ", Place(*value.op()));
  }
  return "";
}

// The values of a variable of block `block`, a line each.
std::string Values(const Program& program, absl::string_view name, int block = 0) {
  const Variable* variable = program.Find(program.block(block), name);
  if (variable == nullptr) return "no such variable";
  std::string text;
  for (const Value* value : variable->values()) {
    absl::StrAppend(&text, Text(*value));
    const char* separator = " = ";
    for (const Value* merged : value->merged()) {
      absl::StrAppend(&text, separator, Text(*merged));
      separator = " or ";
    }
    separator = ": ";
    for (const Argument* reader : value->readers()) {
      absl::StrAppend(&text, separator, Place(reader->op()), " ", reader->slot_name());
      separator = ", ";
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

TEST(Values, AnInPlaceWriteBeginsANewValue) {
  const Program program = ParsedProgram(R"(
    var x f32[4]
    relu(X=x) -> (Out=a)
    scale(X=x) -> (Out=x)
    relu(X=x) -> (Out=b)
  )");
  EXPECT_EQ(Values(program, "x"),
            "entry: 0.0 X, 0.1 X\n"
            "write of 0.1: 0.2 X\n");
}

TEST(Values, WhatNobodyReadsBeforeTheFirstWriteIsNoValue) {
  const Program program = ParsedProgram(R"(
    var x f32[4]
    fill_constant() -> (Out=x)
    relu(X=x) -> (Out=x)
  )");
  EXPECT_EQ(Values(program, "x"),
            "write of 0.0: 0.1 X\n"
            "write of 0.1\n");
}

TEST(Values, ALoopThatOnlyReadsAddsReaders) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var w f32[4,4] persistable
      while(X=[w], Condition=c) -> (Out=[], StepScopes=s) {sub_block=block(1)}
      relu(X=w) -> (Out=y)
    }
    block 1 parent=0 {
      relu(X=w) -> (Out=t)
    }
  )");
  EXPECT_EQ(Values(program, "w"), "entry: 0.0 X, 1.0 X, 0.1 X\n");
}

TEST(Values, ACarriedValueIsMergedAtTheHeadAndLeftAtTheExit) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var h f32[4]
      while(X=[h], Condition=c) -> (Out=[h], StepScopes=s) {sub_block=block(1)}
      relu(X=h) -> (Out=y)
    }
    block 1 parent=0 {
      relu(X=h) -> (Out=t)
      tanh(X=t) -> (Out=h)
      relu(X=h) -> (Out=u)
    }
  )");
  EXPECT_EQ(Values(program, "h"),
            "entry: 0.0 X\n"
            "loop head of 0.0 = entry or write of 1.1: 1.0 X\n"
            "write of 1.1: 1.2 X\n"
            "exit of 0.0 = loop head of 0.0: 0.1 X\n");
  const Op& loop = *program.block(0).first_op();
  EXPECT_EQ(loop.Output("Out")->value()->origin(), Value::Origin::kExit);
  EXPECT_EQ(loop.Output("Out")->value()->written_by(), loop.Output("Out"));
}

TEST(Values, AWriteThatTheLoopDoesNotDeclareIsCarriedAllTheSame) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var h f32[4]
      while(X=[], Condition=c) -> (Out=[], StepScopes=s) {sub_block=block(1)}
      relu(X=h) -> (Out=y)
    }
    block 1 parent=0 {
      relu(X=h) -> (Out=h)
    }
  )");
  EXPECT_EQ(Values(program, "h"),
            "entry\n"
            "loop head of 0.0 = entry or write of 1.0: 1.0 X\n"
            "write of 1.0\n"
            "exit of 0.0 = loop head of 0.0: 0.1 X\n");
  EXPECT_EQ(program.block(0).last_op()->Input("X")->value()->written_by(), nullptr);
}

TEST(Values, AVariableOfTheBodyBeginsAnewInEachIteration) {
  const Program program = ParsedProgram(R"(
    block 0 {
      while(X=[], Condition=c) -> (Out=[], StepScopes=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      var t f32[4]
      fill_constant() -> (Out=t)
      relu(X=t) -> (Out=t)
    }
  )");
  EXPECT_EQ(Values(program, "t", 1),
            "write of 1.0: 1.1 X\n"
            "write of 1.1\n");
}

TEST(Values, AConditionalLeavesWhatWasThereOrWhatItsBlockWrites) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var y f32[4]
      fill_constant() -> (Out=y)
      conditional_block(Cond=c, Input=[y]) -> (Out=[y], Scope=s) {sub_block=block(1)}
      relu(X=y) -> (Out=z)
    }
    block 1 parent=0 {
      relu(X=y) -> (Out=y)
    }
  )");
  EXPECT_EQ(Values(program, "y"),
            "write of 0.0: 0.1 Input, 1.0 X\n"
            "write of 1.0\n"
            "exit of 0.1 = write of 0.0 or write of 1.0: 0.2 X\n");
}

TEST(Values, AnOpThatIsNotKnownIsTakenForALoop) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var y f32[4]
      run_often(X=y) -> (Out=y) {sub_block=block(1)}
    }
    block 1 parent=0 {
      relu(X=y) -> (Out=y)
    }
  )");
  EXPECT_EQ(Values(program, "y"),
            "entry: 0.0 X\n"
            "loop head of 0.0 = entry or write of 1.0: 1.0 X\n"
            "write of 1.0\n"
            "exit of 0.0 = loop head of 0.0\n");
}

TEST(Values, NestedBlocksMergeFromTheInside) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var h f32[4]
      while(X=[h], Condition=c) -> (Out=[h], StepScopes=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      conditional_block(Cond=c, Input=[h]) -> (Out=[h], Scope=t) {sub_block=block(2)}
      relu(X=h) -> (Out=u)
    }
    block 2 parent=1 {
      relu(X=h) -> (Out=h)
    }
  )");
  EXPECT_EQ(Values(program, "h"),
            "entry: 0.0 X\n"
            "loop head of 0.0 = entry or exit of 1.0: 1.0 Input, 2.0 X\n"
            "write of 2.0\n"
            "exit of 1.0 = loop head of 0.0 or write of 2.0: 1.1 X\n"
            "exit of 0.0 = loop head of 0.0\n");
}

TEST(Values, ARecurrentOpIsALoop) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var w f32[4,4] persistable
      var h f32[4]
      recurrent(inputs=[], initial_states=[h], parameters=[w]) -> (outputs=[], step_scopes=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      mul(X=h, Y=w) -> (Out=h)
    }
  )");
  EXPECT_EQ(Values(program, "w"), "entry: 0.0 parameters, 1.0 Y\n");
  EXPECT_EQ(Values(program, "h"),
            "entry: 0.0 initial_states\n"
            "loop head of 0.0 = entry or write of 1.0: 1.0 X\n"
            "write of 1.0\n"
            "exit of 0.0 = loop head of 0.0\n");
}

TEST(Values, AGradientBlockReadsWhatItsForwardBlockEndsWith) {
  const Program program = ParsedProgram(R"(
    block 0 {
      while(X=[], Condition=c) -> (Out=[], StepScopes=s) {sub_block=block(1)}
      while_grad(StepScopes=s) -> () {sub_block=block(2)}
    }
    block 1 parent=0 {
      var t f32[4]
      fill_constant() -> (Out=t)
      relu(X=t) -> (Out=u)
    }
    block 2 parent=0 forward=1 {
      relu_grad(Out=t) -> ()
    }
  )");
  EXPECT_EQ(program.Find(program.block(2), "t"), program.Find(program.block(1), "t"));
  EXPECT_EQ(Values(program, "t", 1), "write of 1.0: 1.1 X, 2.0 Out\n");
}

TEST(Values, AGradientBlockSeesItsForwardBlockBeforeItsOwnParents) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var t f32[4]
      while(X=[], Condition=c) -> (Out=[], StepScopes=s) {sub_block=block(1)}
      while_grad(StepScopes=s) -> () {sub_block=block(2)}
    }
    block 1 parent=0 {
      var t f32[8]
      fill_constant() -> (Out=t)
    }
    block 2 parent=0 forward=1 {
      relu_grad(Out=t) -> ()
    }
  )");
  EXPECT_EQ(Values(program, "t", 0), "");
  EXPECT_EQ(Values(program, "t", 1), "write of 1.0: 2.0 Out\n");
}

TEST(Values, AShadowedNameIsAnotherVariable) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var x f32[4]
      relu(X=x) -> (Out=x)
      conditional_block(Cond=c, Input=[x]) -> (Out=[], Scope=s) {sub_block=block(1)}
      relu(X=x) -> (Out=y)
    }
    block 1 parent=0 {
      var x f32[8]
      fill_constant() -> (Out=x)
      relu(X=x) -> (Out=z)
    }
  )");
  EXPECT_EQ(Values(program, "x", 0),
            "entry: 0.0 X\n"
            "write of 0.0: 0.1 Input, 0.2 X\n");
  EXPECT_EQ(Values(program, "x", 1), "write of 1.0: 1.1 X\n");
}

TEST(Values, AnUndeclaredNameBelongsToBlock0) {
  const Program program = ParsedProgram(R"(
    block 0 {
      while(X=[], Condition=c) -> (Out=[], StepScopes=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      relu(X=nowhere) -> (Out=nowhere)
    }
  )");
  EXPECT_EQ(program.Find(program.block(1), "nowhere"), nullptr);
  const Variable& variable = *program.block(1).first_op()->Input("X")->variable();
  EXPECT_EQ(variable.desc(), nullptr);
  EXPECT_EQ(variable.block().index(), 0);
  EXPECT_EQ(variable.values().size(), 4) << "it is carried by the loop";
}

TEST(Values, AnOpThatWritesANameTwiceLeavesTheLastWrite) {
  const Program program = ParsedProgram(R"(
    var y f32[4]
    split(X=x) -> (Out=[y, y])
    relu(X=y) -> (Out=z)
  )");
  const auto outputs = program.block(0).first_op()->Outputs("Out");
  EXPECT_NE(outputs[0]->value(), outputs[1]->value());
  EXPECT_EQ(Values(program, "y"),
            "write of 0.0\n"
            "write of 0.0: 0.1 X\n");
}

TEST(Values, TheEmptyArgumentHasNoVariable) {
  const Program program = ParsedProgram("mul_grad(X=@EMPTY@) -> (X@GRAD=@EMPTY@)");
  const Op& op = *program.block(0).first_op();
  EXPECT_EQ(op.Input("X")->variable(), nullptr);
  EXPECT_EQ(op.Input("X")->value(), nullptr);
  EXPECT_EQ(op.Output("X@GRAD")->value(), nullptr);
}

TEST(Values, WhatABlockThatNoOpRunsWritesReachesNobody) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var x f32[4]
      relu(X=x) -> (Out=y)
    }
    block 1 parent=0 {
      relu(X=x) -> (Out=x)
      relu(X=x) -> (Out=y)
    }
  )");
  EXPECT_EQ(Values(program, "x"),
            "entry: 0.0 X, 1.0 X\n"
            "write of 1.0: 1.1 X\n");
}

TEST(Values, StayTheSameThroughEditsElsewhere) {
  Program program = ParsedProgram(R"(
    block 0 {
      var h f32[4]
      var other f32[4]
      while(X=[h], Condition=c) -> (Out=[h], StepScopes=s) {sub_block=block(1)}
      relu(X=h) -> (Out=y)
    }
    block 1 parent=0 {
      relu(X=h) -> (Out=h)
    }
  )");
  const std::vector<const Value*> before(program.Find(program.block(0), "h")->values().begin(),
                                         program.Find(program.block(0), "h")->values().end());
  Rewriter rewriter(&program, "test");
  const Argument& read = *program.block(0).last_op()->Input("X");
  rewriter.InsertBefore(read.op(), program.block(0).first_op()->next()->desc());
  rewriter.SetArgument(read, "other");
  rewriter.SetArgument(read, "h");
  const auto after = program.Find(program.block(0), "h")->values();
  EXPECT_EQ(std::vector<const Value*>(after.begin(), after.end()), before);
}

TEST(Values, ANewWriteTakesTheReadersAfterIt) {
  Program program = ParsedProgram(R"(
    var x f32[4]
    relu(X=x) -> (Out=a)
    relu(X=x) -> (Out=b)
  )");
  EXPECT_EQ(Values(program, "x"), "entry: 0.0 X, 0.1 X\n");
  Rewriter rewriter(&program, "test");
  const Op& write =
      rewriter.InsertAfter(*program.block(0).first_op(),
                           ParsedProgram("scale(X=x) -> (Out=x)").Proto().blocks(0).ops(0));
  EXPECT_EQ(Values(program, "x"),
            "entry: 0.0 X, 0.1 X\n"
            "write of 0.1: 0.2 X\n");
  rewriter.Remove(write);
  EXPECT_EQ(Values(program, "x"), "entry: 0.0 X, 0.1 X\n");
}

TEST(Values, RemovingALoopRemovesItsMerges) {
  Program program = ParsedProgram(R"(
    block 0 {
      var h f32[4]
      while(X=[h], Condition=c) -> (Out=[h], StepScopes=s) {sub_block=block(1)}
      relu(X=h) -> (Out=y)
    }
    block 1 parent=0 {
      relu(X=h) -> (Out=h)
    }
  )");
  EXPECT_EQ(program.block(1).owner(), program.block(0).first_op());
  Rewriter(&program, "test").Remove(*program.block(0).first_op());
  EXPECT_EQ(program.block(1).owner(), nullptr);
  EXPECT_EQ(Values(program, "h"),
            "entry: 0.0 X, 1.0 X\n"
            "write of 1.0\n");
  program.RevertEdits();
  EXPECT_EQ(program.block(1).owner(), program.block(0).first_op());
  EXPECT_EQ(Values(program, "h"),
            "entry: 0.0 X\n"
            "loop head of 0.0 = entry or write of 1.0: 1.0 X\n"
            "write of 1.0\n"
            "exit of 0.0 = loop head of 0.0: 0.1 X\n");
}

}  // namespace
}  // namespace fixpoint
