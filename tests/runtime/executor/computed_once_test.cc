// Ops that compute from parameters alone (ops/computed_once.h) give the interpreter's bits, which
// freezing stores.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

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
