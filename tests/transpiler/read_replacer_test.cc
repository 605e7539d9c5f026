#include "transpiler/pipeline/read_replacer.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

const Op& OpAt(const Program& program, int index, int block = 0) {
  const Op* op = program.block(block).first_op();
  for (int i = 0; i < index; ++i) op = op->next();
  return *op;
}

// Makes the input X of op `index` read the last value of a variable, and expects that the program
// stays as it is if that is refused; returns why.
std::string WhyRefused(Program& program, int index, absl::string_view variable, int block = 0) {
  Rewriter rewriter(&program, "test");
  const std::string before = PrintProgram(program.Proto());
  const absl::Status status =
      ReadReplacer(program, &rewriter)
          .Replace({OpAt(program, index, block).Input("X")},
                   *program.Find(program.block(block), variable)->values().back());
  if (!status.ok()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(PrintProgram(program.Proto()), before);
  }
  return std::string(status.message());
}

TEST(ReadReplacer, TakesAlongTheGradientOpsOfTheReaderAlone) {
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var r f32[-1,2]
    relu(X=x) -> (Out=r)
    mul(X=x, Y=w) -> (Out=a)
    mul(X=x, Y=v) -> (Out=b)
    mul_grad(X=x, Y=v, Out@GRAD=b@GRAD) -> (Y@GRAD=v@GRAD) {op_role=1}
    mul_grad(X=x, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
    relu_grad(Out=r, Out@GRAD=r@GRAD) -> (X@GRAD=x@GRAD) {op_role=1}
  )");
  EXPECT_EQ(WhyRefused(program, 1, "r"), "");
  EXPECT_EQ(OpAt(program, 1).Input("X")->name(), "r");
  EXPECT_EQ(OpAt(program, 4).Input("X")->name(), "r");
  EXPECT_EQ(OpAt(program, 2).Input("X")->name(), "x");
  EXPECT_EQ(OpAt(program, 3).Input("X")->name(), "x");
  EXPECT_EQ(OpAt(program, 5).Input("Out")->name(), "r");
}

TEST(ReadReplacer, RefusesAnOpWhoseGradientOpIsNotCertain) {
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var r f32[-1,2]
    relu(X=x) -> (Out=r)
    mul(X=x, Y=w) -> (Out=a)
    scale(X=w) -> (Out=w)
    mul_grad(X=x, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
  )");
  EXPECT_EQ(WhyRefused(program, 1, "r"),
            "block 0, op 1 (mul): is to read \"r\" in slot X, and block 0, op 3 (mul_grad) may be "
            "its gradient op, or another op's, and would not follow");
}

// The gradient op would read what was written since.
TEST(ReadReplacer, RefusesAValueThatAGradientOpNoLongerFinds) {
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var r f32[-1,2]
    relu(X=x) -> (Out=r)
    mul(X=x, Y=w) -> (Out=a)
    scale(X=r) -> (Out=r)
    mul_grad(X=x, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
  )");
  Rewriter rewriter(&program, "test");
  const std::string before = PrintProgram(program.Proto());
  const absl::Status status =
      ReadReplacer(program, &rewriter)
          .Replace({OpAt(program, 1).Input("X")}, *OpAt(program, 0).Output("Out")->value());
  EXPECT_EQ(std::string(status.message()),
            "block 0, op 3 (mul_grad): is to read a value of \"r\", which holds another one there");
  EXPECT_EQ(PrintProgram(program.Proto()), before);
}

TEST(ReadReplacer, RefusesReadersThatAreNoForwardOps) {
  Program program = ParsedProgram(R"(
    var x f32[-1,2]
    var r f32[-1,2]
    relu(X=x) -> (Out=r)
    mul_grad(X=x, Y=w, Out@GRAD=a@GRAD) -> (Y@GRAD=w@GRAD) {op_role=1}
  )");
  EXPECT_EQ(WhyRefused(program, 1, "r"),
            "block 0, op 1 (mul_grad): is to read \"r\" in slot X, and is no forward op");
}

TEST(ReadReplacer, RefusesWhatOpsOfABlockWouldReadFromOutside) {
  Program program = ParsedProgram(R"(
    block 0 {
      var x f32[4]
      var r f32[4]
      relu(X=x) -> (Out=r)
      conditional_block(Cond=c, Input=[x]) -> (Out=[y], Scope=s) {sub_block=block(1)}
    }
    block 1 parent=0 {
      tanh(X=x) -> (Out=y)
    }
  )");
  EXPECT_EQ(WhyRefused(program, 0, "r", /*block=*/1),
            "block 1, op 0 (tanh): is to read \"r\" in slot X, and is in another block than that "
            "variable");
}

}  // namespace
}  // namespace fixpoint
