// Ops that run a block again and again, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// A loop that does not turn leaves a variable that only it writes without a value.
TEST(While, GivesAValueToAVariableThatHadNone) {
  constexpr char kText[] = R"(program version=2006002
    block 0 {
      var x f32[2]
      var y f32[2]
      var goes_on bool[1]
      while(X=x, Condition=goes_on) -> (Out=[y, goes_on], StepScopes=[]) {sub_block=block(1)}
      relu(X=y) -> (Out=z)
    }
    block 1 parent=0 {
      scale(X=x) -> (Out=y) {scale=2.0}
      logical_not(X=goes_on) -> (Out=goes_on)
    })";
  EXPECT_EQ(OpDifferences(kText, "x f32[2] 3 -4\ngoes_on bool[1] 1\n", 0, {"z"}), "");
  EXPECT_THAT(OpDifferences(kText, "x f32[2] 3 -4\ngoes_on bool[1] 0\n", 0, {"z"}),
              testing::HasSubstr("\"y\", which has no value: block 0, op 0 (while) did not run"));
}

// a and b are exchanged in every run, and every other time, by a block within, added to the sum.
constexpr char kLoop[] = R"(program version=2006002
  block 0 {
    var a f32[2]
    var b f32[2]
    var sum f32[2]
    var i i64[1]
    var end i64[1]
    var is_odd bool[1]
    var goes_on bool[1]
    reshape2(X=a) -> (Out=first, XShape=s) {shape=[2, 1]}
    less_than(X=i, Y=end) -> (Out=goes_on)
    while(X=[a, b, i, end, is_odd, first], Condition=goes_on) -> (
      Out=[a, b, sum, i, is_odd, goes_on], StepScopes=[]) {sub_block=block(1)}
    elementwise_sub(X=a, Y=b) -> (Out=difference)
  }
  block 1 parent=0 {
    var old f32[2]
    assign(X=a) -> (Out=old)
    assign(X=b) -> (Out=a)
    assign(X=old) -> (Out=b)
    conditional_block(Cond=is_odd, Input=a) -> (Out=sum, Scope=[]) {
      sub_block=block(2), is_scalar_condition=true}
    logical_not(X=is_odd) -> (Out=is_odd)
    increment(X=i) -> (Out=i)
    less_than(X=i, Y=end) -> (Out=goes_on)
  }
  block 2 parent=1 {
    var flat f32[2]
    elementwise_add(X=sum, Y=a) -> (Out=sum)
    squeeze(X=first) -> (Out=flat) {axes=[1]}
    elementwise_add(X=sum, Y=flat) -> (Out=sum)
  })";

TEST(While, RunsItsBlockAsLongAsTheConditionHolds) {
  for (const char* end : {"0", "1", "2", "5"}) {
    EXPECT_EQ(OpDifferences(kLoop,
                            absl::StrCat("a f32[2] 1 2\nb f32[2] 30 40\nsum f32[2] 0 0\n"
                                         "i i64[1] 0\nis_odd bool[1] 1\nend i64[1] ",
                                         end, "\n"),
                            0, {"a", "b", "sum", "i", "is_odd", "difference"}),
              "");
  }
}

TEST(While, AnErrorNamesBothOps) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var goes_on bool[1]
      var i i64[1]
      var x f32[2,3]
      while(X=[x, i], Condition=goes_on) -> (Out=[goes_on], StepScopes=[]) {sub_block=block(1)}
    }
    block 1 parent=0 {
      var row f32[1,3]
      var total f32[1]
      lookup_table_v2(W=x, Ids=i) -> (Out=row)
      reduce_sum(X=row) -> (Out=total) {reduce_all=true}
      less_than(X=total, Y=total) -> (Out=goes_on)
    })");
  Scope scope = *ParseParameters("goes_on bool[1] 1\ni i64[1] 7\nx f32[2,3] 1 2 3 4 5 6\n", "x");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto run = (*executor)->Run({}, {"goes_on"}, 0);
  EXPECT_THAT(std::string(run.status().message()),
              testing::StartsWith("block 0, op 0 (while): block 1, op 0 (lookup_table_v2): "));
}

std::string PlanTextOf(const char* text, const std::string& values, const std::string& fetch) {
  const Program program = ParsedProgram(text);
  Scope scope = *ParseParameters(values, "values");
  const auto executor = Executor::Create(program, &scope);
  EXPECT_TRUE(executor.ok()) << executor.status();
  EXPECT_TRUE((*executor)->PlanOf({}, {fetch}).ok());
  return (*executor)->PlanText();
}

// The weight is scaled and packed before the first turn, if there is one.
TEST(While, ComputesOnceWhatNoTurnChanges) {
  constexpr char kText[] = R"(program version=2006002
    block 0 {
      var x f32[2,3]
      var w f32[3,3]
      var i i64[1]
      var end i64[1]
      var goes_on bool[1]
      less_than(X=i, Y=end) -> (Out=goes_on)
      while(X=[x, w, i, end], Condition=goes_on) -> (Out=[x, i, goes_on], StepScopes=[]) {
        sub_block=block(1)}
    }
    block 1 parent=0 {
      var ws f32[3,3]
      var p f32[2,3]
      scale(X=w) -> (Out=ws) {scale=0.5}
      mul(X=x, Y=ws) -> (Out=p)
      tanh(X=p) -> (Out=x)
      increment(X=i) -> (Out=i)
      less_than(X=i, Y=end) -> (Out=goes_on)
    })";
  for (const char* turns : {"0", "1", "5"}) {
    const std::string values = absl::StrCat(
        "x f32[2,3] 0.5 -1 0.25 1 0.125 -0.75\nw f32[3,3] 1 2 -3 0.5 0.25 1 -1 2 0.75\n"
        "i i64[1] 0\nend i64[1] ",
        turns, "\n");
    EXPECT_EQ(OpDifferences(kText, values, 1e-6, {"x", "i"}), "") << turns;
    EXPECT_THAT(PlanTextOf(kText, values, "x"),
                testing::ContainsRegex("once, scratch [0-9]+ bytes\n +0 scale .*\n"
                                       " +1 pack weights .*\n +arena [0-9]+ bytes\n +0 mul"));
  }
}

// The inner loop begins anew in each turn of the outer one, which changes what it reads.
TEST(While, ComputesOnceWhatNoTurnOfTheInnerLoopChanges) {
  constexpr char kText[] = R"(program version=2006002
    block 0 {
      var x f32[2]
      var y f32[2]
      var i i64[1]
      var j i64[1]
      var end i64[1]
      var more bool[1]
      var inner_more bool[1]
      less_than(X=i, Y=end) -> (Out=more)
      while(X=[x, y, i, end], Condition=more) -> (Out=[x, y, i, more, j, inner_more], StepScopes=[]) {
        sub_block=block(1)}
    }
    block 1 parent=0 {
      scale(X=x) -> (Out=x) {scale=3.0, bias=1.0}
      fill_constant() -> (Out=j) {shape=[1], dtype=3, value=0.0}
      less_than(X=j, Y=end) -> (Out=inner_more)
      while(X=[x, y, j, end], Condition=inner_more) -> (Out=[y, j, inner_more], StepScopes=[]) {
        sub_block=block(2)}
      increment(X=i) -> (Out=i)
      less_than(X=i, Y=end) -> (Out=more)
    }
    block 2 parent=1 {
      var t f32[2]
      scale(X=x) -> (Out=t) {scale=0.5}
      elementwise_add(X=y, Y=t) -> (Out=y)
      increment(X=j) -> (Out=j)
      less_than(X=j, Y=end) -> (Out=inner_more)
    })";
  const std::string values = "x f32[2] 1 -2\ny f32[2] 0 5\ni i64[1] 0\nend i64[1] 3\n";
  EXPECT_EQ(OpDifferences(kText, values, 0, {"x", "y"}), "");
  EXPECT_THAT(PlanTextOf(kText, values, "y"),
              testing::ContainsRegex("once, scratch [0-9]+ bytes\n +0 scale "));
}

// What reads a variable that may be unset is not computed before that is checked.
TEST(While, ChecksWhatNoTurnChanges) {
  constexpr char kText[] = R"(program version=2006002
    block 0 {
      var ids i64[2]
      var w f32[3,2]
      var x f32[2,2]
      var u i64[2]
      var c bool[1]
      var i i64[1]
      var end i64[1]
      var goes_on bool[1]
      conditional_block(Cond=c, Input=ids) -> (Out=u, Scope=[]) {
        sub_block=block(1), is_scalar_condition=true}
      less_than(X=i, Y=end) -> (Out=goes_on)
      while(X=[x, u, w, i, end], Condition=goes_on) -> (Out=[x, i, goes_on], StepScopes=[]) {
        sub_block=block(2)}
    }
    block 1 parent=0 {
      assign(X=ids) -> (Out=u)
    }
    block 2 parent=0 {
      var rows f32[2,2]
      lookup_table_v2(W=w, Ids=u) -> (Out=rows)
      elementwise_add(X=x, Y=rows) -> (Out=x)
      increment(X=i) -> (Out=i)
      less_than(X=i, Y=end) -> (Out=goes_on)
    })";
  const std::string values =
      "ids i64[2] 2 0\nw f32[3,2] 1 2 3 4 5 6\nx f32[2,2] 0 0 0 0\ni i64[1] 0\nend i64[1] 2\n";
  EXPECT_EQ(OpDifferences(kText, absl::StrCat(values, "c bool[1] 1\n"), 0, {"x"}), "");
  const std::string no_u =
      "block 0, op 2 (while): block 2, op 0 (lookup_table_v2): input Ids reads \"u\", which has no "
      "value: block 0, op 0 (conditional_block) did not run block 1, which writes it\n";
  EXPECT_EQ(OpDifferences(kText, absl::StrCat(values, "c bool[1] 0\n"), 0, {"x"}),
            absl::StrCat("executor: ", no_u, "interpreter: ", no_u));
}

// The weights are quantized before the loop, the other operand inside it.
TEST(While, MultipliesCodesFromAroundAsIntegers) {
  constexpr char kText[] = R"(program version=2006002
    block 0 {
      var x f32[2,3]
      var w f32[3,3]
      var i i64[1]
      var end i64[1]
      var goes_on bool[1]
      fake_channel_wise_quantize_dequantize_abs_max(X=w) -> (Out=wd, OutScale=ws) {
        bit_length=8, quant_axis=1}
      less_than(X=i, Y=end) -> (Out=goes_on)
      while(X=[x, wd, i, end], Condition=goes_on) -> (Out=[x, i, goes_on], StepScopes=[]) {
        sub_block=block(1)}
    }
    block 1 parent=0 {
      var xd f32[2,3]
      var xs f32[1]
      fake_quantize_dequantize_abs_max(X=x) -> (Out=xd, OutScale=xs) {bit_length=8}
      mul(X=xd, Y=wd) -> (Out=x)
      increment(X=i) -> (Out=i)
      less_than(X=i, Y=end) -> (Out=goes_on)
    })";
  const std::string values =
      "x f32[2,3] 0.5 -1 0.25 1 0.125 -0.75\nw f32[3,3] 1 2 -3 0.5 0.25 1 -1 2 0.75\n"
      "i i64[1] 0\nend i64[1] 3\n";
  EXPECT_EQ(OpDifferences(kText, values, 1e-5, {"x", "i"}), "");
  EXPECT_THAT(PlanTextOf(kText, values, "x"), testing::HasSubstr("mul on integers <"));
}

}  // namespace
}  // namespace fixpoint::executor
