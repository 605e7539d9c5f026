// Ops that run gradient blocks, where their slots do not fit what the loop reads and writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;

// A loop that doubles h once if c holds, and an op that runs the gradient block. `slots` are its X,
// Out@GRAD and X@GRAD, of which `made` is the last one; `given` is what the block calls Out@GRAD.
std::string Differences(absl::string_view slots, absl::string_view made, absl::string_view block,
                        bool holds = true, absl::string_view given = "h@GRAD") {
  const std::string program = absl::Substitute(R"(program version=2006002
  block 0 {
    var x f32[2]
    var h f32[2]
    var c bool[1]
    var g f32[2]
    var unset f32[2]
    var many bool[3]
    var array tensor_array f32[-1,2]
    var scopes step_scopes
    assign(X=x) -> (Out=h)
    write_to_array(X=rows, I=zero) -> (Out=array)
    while(X=[h, array, many], Condition=c) -> (Out=[h, c], StepScopes=scopes) {sub_block=block(1)}
    while_grad(Out=h, StepScopes=scopes, $0) {
      sub_block=block(2), original_output_grad=["$1"]}
    assign(X=$2) -> (Out=y)
  }
  block 1 parent=0 {
    var t f32[2]
    scale(X=h) -> (Out=t) {scale=2.0}
    assign(X=t) -> (Out=h)
    logical_not(X=c) -> (Out=c)
  }
  block 2 parent=0 forward=1 {
    $3
  })",
                                               slots, given, made, block);
  return OpDifferences(
      program,
      absl::StrCat("x f32[2] 3 -4\ng f32[2] 5 6\nrows f32[1,2] 1 2\nzero i64[1] 0\n"
                   "many bool[3] 1 1 1\nc bool[1] ",
                   holds ? "1" : "0", "\n"),
      0, {"y"});
}

constexpr char kFillsGradient[] =
    "fill_constant() -> (Out=h@GRAD) {shape=[2L], dtype=5, value=7.0}";

// The block makes the gradient and does not read it.
TEST(BlockGradient, IsWhatWasGivenWhereTheBlockDidNotRun) {
  for (const bool holds : {true, false}) {
    EXPECT_EQ(Differences("X=h, Out@GRAD=g) -> (X@GRAD=g", "g", kFillsGradient, holds), "");
  }
}

TEST(BlockGradient, IsRefusedWhereItDoesNotFit) {
  EXPECT_THAT(Differences("X=many, Out@GRAD=g) -> (X@GRAD=unset", "unset", kFillsGradient),
              HasSubstr("output X@GRAD is bool; want f32"));
  EXPECT_THAT(Differences("X=array, Out@GRAD=g) -> (X@GRAD=g", "g", kFillsGradient),
              HasSubstr("\"g\" is a tensor; want an array, as \"array\""));
}

// Of what no op wrote and no variable of the loop is, nothing is known.
TEST(BlockGradient, IsRefusedWhereNothingSaysWhatItIs) {
  EXPECT_THAT(Differences("X=x, Out@GRAD=unset) -> (X@GRAD=unset", "unset",
                          "fill_constant() -> (Out=x@GRAD) {shape=[2L], dtype=5, value=7.0}",
                          /*holds=*/true, "other@GRAD"),
              HasSubstr("\"unset\" is not known; want [2], as \"x\""));
}

}  // namespace
}  // namespace fixpoint::executor
