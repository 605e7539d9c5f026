// Undo where the edit log is lost: a program that another tool loaded and saved.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr char kText[] = R"(program
block 0 {
  var x f32[-1,4]
  var w f32[4,4] persistable
  var y f32[-1,4]
  mul(X=x, Y=w) -> (Out=y) {with_quant_attr=false, quantization_type="none"}
  relu(X=y) -> (Out=y)
}
)";

ProgramDesc Transpiled() {
  Program program = ParsedProgram(kText);
  EXPECT_TRUE(Transpile(&program).ok());
  return program.Proto();
}

std::string Undone(ProgramDesc desc) {
  auto program = Program::Create(std::move(desc));
  const absl::Status status = Untranspile(&*program);
  return status.ok() ? PrintProgram(program->Proto()) : std::string(status.message());
}

TEST(UndoByMarksOfAProgram, GivesTheProgramBackWithoutTheLog) {
  ProgramDesc resaved = Transpiled();
  resaved.clear_edit_log();
  EXPECT_EQ(Undone(resaved), kText);
}

TEST(UndoByMarksOfAProgram, KeepsWhatAnotherToolChangedSince) {
  ProgramDesc changed = Transpiled();
  OpDesc* added = changed.mutable_blocks(0)->add_ops();
  added->set_type("users_op");
  std::string with_users_op = kText;
  with_users_op.insert(with_users_op.rfind('}'), "  users_op()\n");
  EXPECT_EQ(Undone(changed), with_users_op) << "the log is of another program";
}

TEST(UndoOfAnEditedProgram, RefusesAnOpThatReadsWhatIsTakenAway) {
  ProgramDesc edited = Transpiled();
  OpDesc& relu = *edited.mutable_blocks(0)->mutable_ops(edited.blocks(0).ops_size() - 1);
  ASSERT_EQ(relu.type(), "relu");
  relu.mutable_inputs(0)->set_arguments(0, "x.quantized.dequantized");
  EXPECT_THAT(Undone(edited),
              testing::HasSubstr("(relu): reads \"x.quantized.dequantized\", which Fixpoint's ops "
                                 "compute, and has no mark of what it read before"));
}

TEST(UndoOfAnEditedProgram, SaysWhatIsWrongWhereTheLogFitsNoMore) {
  ProgramDesc edited = Transpiled();
  BlockDesc& block = *edited.mutable_blocks(0);
  OpDesc& mul = *block.mutable_ops(block.ops_size() - 2);
  ASSERT_EQ(mul.type(), "mul");
  block.mutable_ops()->DeleteSubrange(0, 1);
  mul.clear_attrs();
  EXPECT_THAT(Undone(edited), testing::HasSubstr("which Fixpoint's ops compute"));
}

// A composite whose quantized components are its attributes is not what stood there.
TEST(UndoOfAProgramWithRaisedComposites, NeedsTheLog) {
  ProgramDesc raised = Transpiled();
  raised.clear_edit_log();
  OpDesc& relu = *raised.mutable_blocks(0)->mutable_ops(raised.blocks(0).ops_size() - 1);
  *relu.add_attrs() =
      MakeStringsAttr("fixpoint.component.sigmoid", {"s", "s@scale", "", "8", "-1", "step"});
  EXPECT_THAT(Undone(raised),
              testing::HasSubstr("(relu): was given back in place of components, of which sigmoid "
                                 "was quantized, and the edit log that has their ops is gone"));
}

struct BadMark {
  const char* name;
  const char* text;
  const char* message;
};

class UndoByMarksTest : public testing::TestWithParam<BadMark> {};

TEST_P(UndoByMarksTest, RefusesAndLeavesTheProgramAsItWas) {
  Program program = ParsedProgram(GetParam().text);
  const std::string before = PrintProgram(program.Proto());
  EXPECT_EQ(std::string(Untranspile(&program).message()), GetParam().message);
  EXPECT_EQ(PrintProgram(program.Proto()), before);
}

#define MISFIT(mark)                                    \
  "program.txt: block 0, op 0 (relu): the mark \"" mark \
  "\" of fixpoint.rewired does not fit the "            \
  "op"

constexpr BadMark kBadMarks[] = {
    {"NoMark", "relu(X=x) -> (Out=y)",
     "program.txt: there is nothing to undo: the program has neither an edit log nor marks of "
     "Fixpoint"},
    {"WhatWasEditedSince", R"(
var x f32[-1,4]
var w f32[3,4] persistable
var q f32[4,4]
var y f32[-1,4]
mul(X=x, Y=q) -> (Out=y) {fixpoint.rewired=["Y.0=w"]})",
     "program.txt: the program was edited since it was rewritten, or was wrong before, and what "
     "its marks lead back to is wrong: block 0, op 0 (mul): X [-1, 4] has rows of 4 and Y [3, 4] "
     "has columns of 3; want equal numbers"},
    {"AGradientOpWithAnotherMark", R"(
var x f32[-1,4]
var z f32[-1,4]
var w f32[4,4] persistable
var q f32[4,4]
var y f32[-1,4]
var y@GRAD f32[-1,4]
var w@GRAD f32[4,4]
mul(X=x, Y=q) -> (Out=y) {fixpoint.rewired=["X.0=x", "Y.0=w"]}
fill_constant() -> (Out=y@GRAD) {shape=[1L, 4L], dtype=5, value=1.0, op_role=1}
mul_grad(X=x, Y=q, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1, fixpoint.rewired=["X.0=z", "Y.0=w"]})",
     "program.txt: the program was edited since it was rewritten, or was wrong before, and what "
     "its marks lead back to is wrong: block 0, op 2 (mul_grad): input X reads \"z\"; want \"x\", "
     "which block 0, op 0 (mul) reads"},
    {"NoPlace", R"(relu(X=x) -> (Out=y) {fixpoint.rewired=["nonsense"]})", MISFIT("nonsense")},
    {"IndexIsNoNumber", R"(relu(X=x) -> (Out=y) {fixpoint.rewired=["X.a=b"]})", MISFIT("X.a=b")},
    {"NegativeIndex", R"(relu(X=x) -> (Out=y) {fixpoint.rewired=["X.-1=b"]})", MISFIT("X.-1=b")},
    {"NoSuchSlot", R"(relu(X=x) -> (Out=y) {fixpoint.rewired=["Z.0=b"]})", MISFIT("Z.0=b")},
    {"NoSuchArgument", R"(relu(X=x) -> (Out=y) {fixpoint.rewired=["X.1=b"]})", MISFIT("X.1=b")},
    {"AddedInTheMiddle", R"(relu(X=[x, z]) -> (Out=y) {fixpoint.rewired=["X.0+"]})",
     MISFIT("X.0+")},
    {"AttributeThatRunsABlock",
     "block 0 {\n  relu() {sub_block=block(1), fixpoint.rewired=[\"sub_block+\"]}\n}\n"
     "block 1 parent=0 {\n}",
     MISFIT("sub_block+")},
    {"SecondMarkIsBad",
     "var a f32[2]\nrelu(X=x) -> (Out=y) {fixpoint.rewired=[\"Z.0=b\", \"X.0=a\"]}",
     MISFIT("Z.0=b")},
    {"OriginalIsGone", R"(relu(X=x) -> (Out=y) {fixpoint.rewired=["X.0=z"]})",
     "program.txt: block 0, op 0 (relu): the mark \"X.0=z\" of fixpoint.rewired names a variable "
     "that the program no longer has; a frozen program has no way back, undo the one it was made "
     "of"},
    {"ReaderHasNoMark", "scale(X=x) -> (Out=q) {fixpoint.inserted_by=\"p\"}\nrelu(X=q) -> (Out=y)",
     "program.txt: block 0, op 0 (relu): reads \"q\", which Fixpoint's ops compute, and has no "
     "mark "
     "of what it read before; a frozen program has no way back, undo the one it was made of"},
};

#undef MISFIT

INSTANTIATE_TEST_SUITE_P(Bad, UndoByMarksTest, testing::ValuesIn(kBadMarks),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
