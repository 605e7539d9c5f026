// Ops that compute from parameters alone (ops/computed_once.h) give the interpreter's bits, which
// freezing stores.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using testing::ElementsAre;
using testing::Not;

// How an op with `computed_once` among its attributes differs from the interpreter.
std::string Difference(const std::string& program, bool computed_once) {
  const std::string mark = computed_once ? "fixpoint.computed_once=true" : "";
  return OpDifferences(absl::StrReplaceAll(program, {{"MARK", mark}}),
                       absl::StrCat(Drawn("x", {8, 40}), Drawn("g", {40})), /*tolerance=*/0, {"y"});
}

TEST(ComputedOnce, HasTheBitsOfTheInterpreter) {
  constexpr char kExp[] = R"(
    var x f32[8,40]
    var y f32[8,40]
    exp(X=x) -> (Out=y) {MARK}
  )";
  EXPECT_NE(Difference(kExp, false), "");
  EXPECT_EQ(Difference(kExp, true), "");
}

TEST(ComputedOnce, ReadsOneVariableInTwoSlots) {
  EXPECT_EQ(Difference(R"(
    var x f32[8,40]
    var a f32[8,40]
    var y f32[8,40]
    abs(X=x) -> (Out=a)
    elementwise_pow(X=a, Y=a) -> (Out=y) {MARK}
  )",
                       true),
            "");
}

TEST(ComputedOnce, WritesTheVariableThatItReads) {
  EXPECT_EQ(Difference(R"(
    var x f32[8,40]
    var y f32[8,40]
    scale(X=x) -> (Out=y) {scale=2.0}
    tanh(X=y) -> (Out=y) {MARK}
  )",
                       true),
            "");
}

TEST(ComputedOnce, HasOutputsThatNothingReads) {
  EXPECT_EQ(Difference(R"(
    var x f32[8,40]
    var g f32[40]
    var y f32[8,40]
    var mean f32[8]
    var variance f32[8]
    layer_norm(X=x, Scale=g) -> (Y=y, Mean=mean, Variance=variance) {MARK}
  )",
                       true),
            "");
}

// What runs an op of x that is computed once.
std::vector<std::string> ImplementationsOf(absl::string_view op) {
  const Program program = ParsedProgram(absl::StrCat(R"(
    program version=2006002
    block 0 {
    var x f32[8,40]
    var y f32[8,40]
    )",
                                                     op, " {fixpoint.computed_once=true}\n}\n"));
  Scope scope;
  const Tensor x = *Tensor::Allocate(VarType::FP32, {8, 40});
  const std::vector<Feed> feeds = {{"x", &x}};
  std::vector<std::string> implementations;
  for (const Step& step : (**(*Executor::Create(program, &scope))->PlanOf(feeds, {"y"})).steps) {
    implementations.push_back(step.implementation);
  }
  return implementations;
}

TEST(ComputedOnce, IsAStepOfTheExecutorsOwnWhereThatGivesTheSameBits) {
  EXPECT_THAT(ImplementationsOf("square(X=x) -> (Out=y)"), ElementsAre(Not("reference")));
  EXPECT_THAT(ImplementationsOf("exp(X=x) -> (Out=y)"), ElementsAre("reference"));
}

TEST(ComputedOnce, TakesInputsThatTheExecutorDoesNot) {
  EXPECT_EQ(Difference(R"(
    var x f32[8,40]
    var least f32[1]
    var y f32[8,40]
    fill_constant() -> (Out=least) {shape=[1L], dtype=5, value=0.5}
    clip(X=x, Min=least) -> (Out=y) {min=0.0, max=1.0, MARK}
  )",
                       true),
            "");
  EXPECT_EQ(Difference(R"(
    var x f32[8,40]
    var codes i64[8,40]
    var y i64[8]
    cast(X=x) -> (Out=codes) {in_dtype=5, out_dtype=3}
    reduce_max(X=codes) -> (Out=y) {dim=[1], MARK}
  )",
                       true),
            "");
}

TEST(ComputedOnce, ReadsIntegers) {
  EXPECT_EQ(Difference(R"(
    var x f32[8,40]
    var codes i64[8,40]
    var y i64[8]
    cast(X=x) -> (Out=codes) {in_dtype=5, out_dtype=3}
    reduce_sum(X=codes) -> (Out=y) {dim=[1], MARK}
  )",
                       true),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
