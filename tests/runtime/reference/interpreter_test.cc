// What the interpreter does with a program and its scope, whatever the ops compute.

#include "runtime/reference/interpreter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/reference/run_ops.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::reference {
namespace {

// Runs a program on a scope, as often as `times`; gives the scope, or the error.
std::string ScopeAfter(const std::string& program_text, const std::string& inputs, int times = 1) {
  const Program program = ParsedProgram(program_text);
  Scope scope = *ParseParameters(inputs, "inputs");
  absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, &scope);
  if (!interpreter.ok()) return interpreter.status().ToString();
  for (int i = 0; i < times; ++i) {
    const auto fetched = interpreter->Run({}, {}, i);
    if (!fetched.ok()) return fetched.status().ToString() + "\n" + PrintParameters(scope);
  }
  return PrintParameters(scope);
}

TEST(Interpreter, KeepsPersistableVariablesAndNoOthers) {
  EXPECT_EQ(ScopeAfter(R"(
    var x f32[2]
    var w f32[2] persistable
    var y f32[2]
    scale(X=x) -> (Out=y) {scale=2.0}
    elementwise_add(X=w, Y=y) -> (Out=w)
  )",
                       "x f32[2] 1 2\nw f32[2] 10 20\n", 2),
            "w f32[2] 14 28\nx f32[2] 1 2\n");
}

TEST(Interpreter, ReadsWhatIsFedByItsName) {
  EXPECT_EQ(RunOps(R"(
    var feed feed_minibatch persistable
    var fetch fetch_list persistable
    var x f32[1]
    var y f32[1]
    feed(X=feed) -> (Out=x) {col=0}
    relu(X=x) -> (Out=y)
  )",
                   "x f32[1] 3\n"),
            "x f32[1] 3\ny f32[1] 3\n");
}

TEST(Interpreter, AnOpMayWriteWhatItReads) {
  EXPECT_EQ(RunOps("scale(X=x) -> (Out=x) {scale=2.0}\nscale(X=x) -> (Out=x) {scale=2.0}",
                   "x f32[1] 1\n"),
            "x f32[1] 4\n");
}

TEST(Interpreter, AFeedHidesTheScopeForOneRun) {
  const Program program = ParsedProgram(R"(
    var x f32[1]
    var w f32[1] persistable
    elementwise_add(X=w, Y=x) -> (Out=w)
  )");
  Scope scope = *ParseParameters("w f32[1] 1\nx f32[1] 10\n", "inputs");
  Interpreter interpreter = *Interpreter::Create(program, &scope);
  const Tensor hundred = Tensor::FromValues<float>({1}, {100});
  ASSERT_TRUE(interpreter.Run({{"x", &hundred}}, {}, 0).ok());
  EXPECT_EQ(PrintParameters(scope), "w f32[1] 101\nx f32[1] 10\n");
  ASSERT_TRUE(interpreter.Run({}, {}, 1).ok());
  EXPECT_EQ(PrintParameters(scope), "w f32[1] 111\nx f32[1] 10\n");
}

TEST(Interpreter, NamesTheFirstOpWhoseOutputIsNotFinite) {
  const Program program = ParsedProgram(R"(
    var w f32[2] persistable
    scale(X=w) -> (Out=w) {scale=2.0}
    log(X=w) -> (Out=y)
    relu(X=y) -> (Out=z)
  )");
  Scope scope = *ParseParameters("w f32[2] 1 0\n", "inputs");
  InterpreterOptions options;
  options.check_finite = true;
  EXPECT_EQ(Interpreter::Create(program, &scope, options)->Run({}, {}, 0).status(),
            NotFiniteError("block 0, op 1 (log): element 1 of output Out, variable "
                           "\"y\", is -inf; want finite numbers"));
  EXPECT_EQ(PrintParameters(scope), "w f32[2] 1 0\n");
  EXPECT_TRUE(Interpreter::Create(program, &scope)->Run({}, {}, 0).ok());
}

TEST(Interpreter, RoundsToTheTypeOfEachValue) {
  EXPECT_EQ(RunOps("scale(X=x) -> (Out=y) {bias=1.0}\nscale(X=y) -> (Out=z) {bias=-1.0}",
                   "x f32[1] 1e-10\n"),
            "y f32[1] 1\nz f32[1] 0\n");
}

TEST(Interpreter, RoundsNothingWhereAllIsDouble) {
  const Program program = ParsedProgram(
      "scale(X=x) -> (Out=y) {bias=1.0}\n"
      "cast(X=y) -> (Out=y32) {in_dtype=6, out_dtype=5}\n"
      "scale(X=y32) -> (Out=z) {bias=-1.0}\n");
  Scope scope = *ParseParameters("x f32[1] 0.0009765625\n", "inputs");
  Interpreter interpreter = *Interpreter::Create(program, &scope, {Precision::kDouble, /*seed=*/0});
  std::vector<Tensor> fetched = *interpreter.Run({}, {"z"}, 0);
  Scope result;
  result.Set("z", std::move(fetched[0]));
  EXPECT_EQ(PrintParameters(result), "z f64[1] 0.0009765625\n");
}

TEST(Interpreter, NamesEveryOpTypeWithoutKernel) {
  EXPECT_EQ(ScopeAfter(R"(
    relu(X=x) -> (Out=y)
    adamax(X=y) -> (Out=b)
    mystery(X=y) -> (Out=z)
    mystery(X=z) -> (Out=z)
  )",
                       ""),
            "UNIMPLEMENTED: no reference kernel for op types adamax (block 0, op 1), "
            "mystery (block 0, op 2)");
}

TEST(Interpreter, RefusesOpsThatAreNotAsTheirTypeRequires) {
  EXPECT_EQ(RunOps("elementwise_add(X=x) -> (Out=y)", ""),
            "block 0, op 0 (elementwise_add): input Y is absent; want a variable");
  EXPECT_EQ(RunOps("relu(X=@EMPTY@) -> (Out=y)", ""),
            "block 0, op 0 (relu): input X is absent; want a variable");
  EXPECT_EQ(RunOps("relu(X=[a, b]) -> (Out=y)", ""),
            "block 0, op 0 (relu): input X has 2 arguments; want one");
  EXPECT_EQ(RunOps("relu(X=x, Y=y) -> (Out=z)", ""),
            "block 0, op 0 (relu): the op has no input Y; want no \"y\" there");
  EXPECT_EQ(RunOps("relu(X=x, Step=y) -> (Out=z)", ""),
            "block 0, op 0 (relu): the op has no input Step; want no \"y\" there");
  EXPECT_EQ(RunOps("relu(X=x) -> (Out=y, Mask=z)", ""),
            "block 0, op 0 (relu): the op has no output Mask; want no \"z\" there");
  EXPECT_EQ(RunOps("cast(X=x) -> (Out=y) {in_dtype=5}", ""),
            "block 0, op 0 (cast): attribute out_dtype is absent; want int");
  EXPECT_EQ(RunOps("scale(X=x) -> (Out=y) {scale=\"2\"}", ""),
            "block 0, op 0 (scale): attribute scale is string; want float");
  EXPECT_EQ(RunOps("scale(X=x) -> (Out=y) {scale=var(s)}", ""),
            "block 0, op 0 (scale): attribute scale comes from a variable; want float");
}

TEST(Interpreter, SaysWhichInputHasNoValue) {
  EXPECT_EQ(RunOps("relu(X=x) -> (Out=y)\nrelu(X=w) -> (Out=z)", "x f32[1] 1\n"),
            "block 0, op 1 (relu): input X reads \"w\", which has no value; want it fed, "
            "initialised by the startup program, or written by an op before");
}

TEST(Interpreter, OnlyListsOfAnOpThatRunsABlockMayLackValues) {
  EXPECT_EQ(RunOps(R"(program
block 0 {
  relu(X=x) -> (Out=y) {sub_block=block(1)}
}
block 1 parent=0 {
}
)",
                   ""),
            "block 0, op 0 (relu): input X reads \"x\", which has no value; want it fed, "
            "initialised by the startup program, or written by an op before");
}

TEST(Interpreter, SaysWhichFetchHasNoValue) {
  const Program program = ParsedProgram("var x f32[1]\nrelu(X=x) -> (Out=y)");
  Scope scope = *ParseParameters("x f32[1] 1\n", "inputs");
  const auto fetched = Interpreter::Create(program, &scope)->Run({}, {"nowhere"}, 0);
  EXPECT_EQ(fetched.status(),
            absl::FailedPreconditionError("fetch \"nowhere\" has no value; want a variable of "
                                          "block 0 that is fed, initialised or written"));
}

TEST(Interpreter, ARunThatFailsLeavesTheScopeAsItWas) {
  EXPECT_EQ(ScopeAfter(R"(
    var w f32[2] persistable
    scale(X=w) -> (Out=w) {scale=2.0}
    elementwise_add(X=w, Y=x) -> (Out=y)
  )",
                       "w f32[2] 1 2\nx f32[3] 1 2 3\n"),
            "INVALID_ARGUMENT: block 0, op 1 (elementwise_add): X [2] and Y [3] do not broadcast: "
            "want equal dimensions or 1, got 2 and 3\nw f32[2] 1 2\nx f32[3] 1 2 3\n");
}

TEST(Interpreter, WithoutMemoryThereIsAnError) {
  EXPECT_EQ(RunOps("fill_constant() -> (Out=x) {shape=[4611686018427387904L, 4L]}", ""),
            "block 0, op 0 (fill_constant): there is no memory for its outputs");
}

// Loops go over the other extents of what has no elements.
TEST(Interpreter, WhatHasNoElementsIsNotWideWithoutBound) {
  EXPECT_EQ(RunOps("fill_constant() -> (Out=x) {shape=[0L, 1048576L, 1048576L]}", ""),
            "block 0, op 0 (fill_constant): there is no memory for its outputs");
  EXPECT_EQ(RunOps("reshape2(X=x) -> (Out=y) {shape=[0, 1048576, 1048576]}", "x f32[0,1]\n"),
            "block 0, op 0 (reshape2): there is no memory for its outputs");
  EXPECT_EQ(
      RunOps("softmax(X=x) -> (Out=y)", "x f32[1099511627776,0]\n"),
      "block 0, op 0 (softmax): variable \"x\" has elements [1099511627776, 0], and there is no "
      "memory for them as doubles");
  EXPECT_EQ(RunOps("matmul(X=x, Y=y) -> (Out=out)", "x f32[33554432,1,0]\ny f32[0,0]\n"),
            "out f32[33554432,1,0] \n");
}

// One number, in a sequence of its own.
TEST(Interpreter, AScalarHasNoRowsToHandOn) {
  EXPECT_EQ(RunOps("relu(X=x) -> (Out=y)", "x f32[] lod={0,1} 3\n"), "y f32[] 3\n");
  EXPECT_EQ(RunOps("elementwise_add(X=x, Y=y) -> (Out=out)", "x f32[1] 2\ny f32[] lod={0,1} 3\n"),
            "out f32[1] 5\n");
}

TEST(Interpreter, UsesTheDefaultsOfTheProgramsEra) {
  EXPECT_EQ(RunOps("program version=1008005\nblock 0 {\nrelu(X=x) -> (Out=y)\n}", "x f32[1] nan\n"),
            "y f32[1] nan\n");
  EXPECT_EQ(RunOps("program version=2006002\nblock 0 {\nrelu(X=x) -> (Out=y)\n}", "x f32[1] nan\n"),
            "y f32[1] 0\n");
}

TEST(Interpreter, DrawsOtherNumbersInEachStepUnlessTheOpHasASeed) {
  const Program program = ParsedProgram(R"(
    uniform_random() -> (Out=free) {shape=[1L]}
    uniform_random() -> (Out=seeded) {shape=[1L], seed=5}
  )");
  Scope scope;
  const auto draw = [&](Interpreter& interpreter, uint32_t step) {
    const std::vector<Tensor> fetched = *interpreter.Run({}, {"free", "seeded"}, step);
    return std::make_pair(fetched[0].data<float>()[0], fetched[1].data<float>()[0]);
  };
  Interpreter interpreter = *Interpreter::Create(program, &scope);
  const auto first = draw(interpreter, 0);
  const auto second = draw(interpreter, 1);
  EXPECT_NE(first.first, second.first);
  EXPECT_EQ(first.second, second.second);
  Interpreter resumed = *Interpreter::Create(program, &scope);
  EXPECT_EQ(draw(resumed, 1), second);
  Interpreter other = *Interpreter::Create(program, &scope, {Precision::kAsDeclared, /*seed=*/1});
  EXPECT_NE(draw(other, 0).first, first.first);
}

}  // namespace
}  // namespace fixpoint::reference
