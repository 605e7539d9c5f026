// Ops that run blocks, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/learning_rate.h"
#include "ops/program_builder.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// y is 2 x where c holds, and else what it was before; t is seen within the block alone.
constexpr char kConditional[] = R"(program version=2006002
  block 0 {
    var x f32[2]
    var y f32[2]
    var c bool[1]
    relu(X=x) -> (Out=r)
    assign(X=x) -> (Out=y)
    conditional_block(Cond=c, Input=r) -> (Out=y, Scope=[]) {
      sub_block=block(1), is_scalar_condition=true}
    scale(X=y) -> (Out=z) {bias=1.0}
  }
  block 1 parent=0 {
    var t f32[2]
    scale(X=r) -> (Out=t) {scale=2.0}
    elementwise_add(X=t, Y=y) -> (Out=y)
  })";

TEST(ConditionalBlock, WritesWhereItsConditionHolds) {
  for (const char* holds : {"0", "1"}) {
    EXPECT_EQ(OpDifferences(kConditional, absl::StrCat("x f32[2] 3 -4\nc bool[1] ", holds, "\n"), 0,
                            {"y", "z"}),
              "");
  }
}

// The shapes tell whether a condition is empty.
TEST(ConditionalBlock, OrWhereNoConditionIsEmpty) {
  std::string program = kConditional;
  program.replace(program.find("is_scalar_condition=true"), 24, "is_scalar_condition=false");
  for (const char* condition : {"c bool[0]\n", "c bool[1] 0\n"}) {
    EXPECT_EQ(OpDifferences(program, absl::StrCat("x f32[2] 3 -4\n", condition), 0, {"y", "z"}),
              "");
  }
}

// Like a shared learning rate, the variable is kept and the op names it in no slot.
TEST(ConditionalBlock, WritesAPersistableVariableInItsPlace) {
  for (const char* holds : {"0", "1"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var c bool[1]
        var rate f32[1] persistable
        conditional_block(Cond=c, Input=[]) -> (Out=[], Scope=[]) {
          sub_block=block(1), is_scalar_condition=true}
        scale(X=rate) -> (Out=twice) {scale=2.0}
      }
      block 1 parent=0 {
        fill_constant() -> (Out=rate) {shape=[1], dtype=5, value=0.25}
      })",
                            absl::StrCat("rate f32[1] 0.5\nc bool[1] ", holds, "\n"), 0, {"twice"}),
              "");
  }
}

// y has a value only where the first block runs, and z where both do.
constexpr char kUnset[] = R"(program version=2006002
  block 0 {
    var x f32[2]
    var y f32[2]
    var z f32[2]
    var c bool[1]
    var d bool[1]
    conditional_block(Cond=c, Input=x) -> (Out=y, Scope=[]) {
      sub_block=block(1), is_scalar_condition=true}
    conditional_block(Cond=d, Input=y) -> (Out=z, Scope=[]) {
      sub_block=block(2), is_scalar_condition=true}
    scale(X=z) -> (Out=twice) {scale=2.0}
  }
  block 1 parent=0 {
    relu(X=x) -> (Out=y)
  }
  block 2 parent=0 {
    scale(X=y) -> (Out=z) {bias=1.0}
  })";

TEST(ConditionalBlock, GivesAValueToAVariableThatHadNone) {
  EXPECT_EQ(OpDifferences(kUnset, "x f32[2] 3 -4\nc bool[1] 1\nd bool[1] 1\n"), "");
}

TEST(ConditionalBlock, LeavesAVariableWithoutAValueWhereItDoesNotRun) {
  const std::string no_z =
      "block 0, op 2 (scale): input X reads \"z\", which has no value: block 0, op 1 "
      "(conditional_block) did not run block 2, which writes it\n";
  EXPECT_EQ(OpDifferences(kUnset, "x f32[2] 3 -4\nc bool[1] 1\nd bool[1] 0\n", 0, {"twice"}),
            absl::StrCat("executor: ", no_z, "interpreter: ", no_z));
  const std::string no_y =
      "block 0, op 1 (conditional_block): block 2, op 0 (scale): input X reads \"y\", which has no "
      "value: block 0, op 0 (conditional_block) did not run block 1, which writes it\n";
  EXPECT_EQ(OpDifferences(kUnset, "x f32[2] 3 -4\nc bool[1] 0\nd bool[1] 1\n", 0, {"twice"}),
            absl::StrCat("executor: ", no_y, "interpreter: ", no_y));
}

TEST(ConditionalBlock, MayHoldOnlyOneThatNeverRuns) {
  const auto differences = [](const char* reader) {
    return OpDifferences(absl::StrCat(R"(program version=2006002
      block 0 {
        var x f32[2]
        var y f32[2]
        var c bool[1]
        conditional_block(Cond=c, Input=x) -> (Out=y, Scope=[]) {
          sub_block=block(1), is_scalar_condition=true}
        )",
                                      reader, R"(
      }
      block 1 parent=0 {
        conditional_block(Cond=none, Input=x) -> (Out=y, Scope=[]) {
          sub_block=block(2), is_scalar_condition=false}
      }
      block 2 parent=1 {
        relu(X=x) -> (Out=y)
      })"),
                         "x f32[2] 3 -4\nc bool[1] 1\nnone bool[0]\n", 0, {"z"});
  };
  EXPECT_EQ(differences("scale(X=x) -> (Out=z) {scale=2.0}"), "");
  EXPECT_THAT(
      differences("scale(X=y) -> (Out=z) {scale=2.0}"),
      testing::StartsWith("executor: block 0, op 1 (scale): \"y\" has no value: block 0, op "
                          "0 (conditional_block) did not run block 1, which writes it\n"));
}

// Each block leaves a value for one of the two; y is what the condition says.
constexpr char kChoice[] = R"(program version=2006002
  block 0 {
    var x f32[2]
    var a f32[2]
    var b f32[2]
    var c bool[1]
    var not_c bool[1]
    var mask i32[1]
    conditional_block(Cond=c, Input=x) -> (Out=a, Scope=[]) {
      sub_block=block(1), is_scalar_condition=true}
    logical_not(X=c) -> (Out=not_c)
    conditional_block(Cond=not_c, Input=x) -> (Out=b, Scope=[]) {
      sub_block=block(2), is_scalar_condition=true}
    cast(X=c) -> (Out=mask) {in_dtype=0, out_dtype=2}
    select_input(X=[b, a], Mask=mask) -> (Out=y)
    scale(X=y) -> (Out=z) {bias=1.0}
  }
  block 1 parent=0 {
    relu(X=x) -> (Out=a)
  }
  block 2 parent=0 {
    scale(X=x) -> (Out=b) {scale=3.0}
  })";

TEST(SelectInput, TakesWhatTheBlockThatRanWrote) {
  for (const char* holds : {"0", "1"}) {
    EXPECT_EQ(
        OpDifferences(kChoice, absl::StrCat("x f32[2] 3 -4\nc bool[1] ", holds, "\n"), 0, {"z"}),
        "");
  }
}

// In a loop that runs one or the other block in turn.
TEST(SelectInput, TakesItInEachTurnOfALoop) {
  for (const char* values : {"goes_on bool[1] 0\n", "goes_on bool[1] 1\n"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var goes_on bool[1]
        var x f32[2]
        var last f32[2]
        var i i64[1]
        var end i64[1]
        var is_odd bool[1]
        assign(X=x) -> (Out=last)
        while(X=[x, i, end, is_odd], Condition=goes_on) -> (
          Out=[last, i, is_odd, goes_on], StepScopes=[]) {sub_block=block(1)}
        relu(X=last) -> (Out=y)
      }
      block 1 parent=0 {
        var a f32[2]
        var b f32[2]
        var y1 f32[2]
        var mask i32[1]
        conditional_block(Cond=is_odd, Input=x) -> (Out=a, Scope=[]) {
          sub_block=block(2), is_scalar_condition=true}
        cast(X=is_odd) -> (Out=mask) {in_dtype=0, out_dtype=2}
        logical_not(X=is_odd) -> (Out=is_odd)
        conditional_block(Cond=is_odd, Input=x) -> (Out=b, Scope=[]) {
          sub_block=block(3), is_scalar_condition=true}
        select_input(X=[b, a], Mask=mask) -> (Out=y1)
        elementwise_add(X=last, Y=y1) -> (Out=last)
        increment(X=i) -> (Out=i)
        less_than(X=i, Y=end) -> (Out=goes_on)
      }
      block 2 parent=1 {
        scale(X=x) -> (Out=a) {scale=2.0}
      }
      block 3 parent=1 {
        scale(X=x) -> (Out=b) {scale=-5.0}
      })",
                            absl::StrCat("x f32[2] 3 -4\ni i64[1] 0\nend i64[1] 3\n"
                                         "is_odd bool[1] 1\n",
                                         values),
                            0, {"y", "last", "i"}),
              "");
  }
}

TEST(SelectInput, WantsTheNumberOfATensor) {
  for (const char* mask : {"-1", "2"}) {
    const std::string error = absl::StrCat("block 0, op 0 (select_input): Mask is ", mask,
                                           "; want the place of one of 2 tensors\n");
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var a f32[2]
        var b f32[2]
        var mask i32[1]
        select_input(X=[a, b], Mask=mask) -> (Out=y)
      })",
                            absl::StrCat("a f32[2] 3 -4\nb f32[2] 5 6\nmask i32[1] ", mask, "\n")),
              absl::StrCat("executor: ", error, "interpreter: ", error));
  }
}

TEST(SelectOutput, WritesTheTensorThatMaskNames) {
  constexpr char kText[] = R"(program version=2006002
    block 0 {
      var x f32[2]
      var mask i32[1]
      select_output(X=x, Mask=mask) -> (Out=[a, b])
      relu(X=b) -> (Out=y)
    })";
  EXPECT_EQ(OpDifferences(kText, "x f32[2] 3 -4\nmask i32[1] 1\n", 0, {"y", "b"}), "");
  EXPECT_THAT(OpDifferences(kText, "x f32[2] 3 -4\nmask i32[1] 0\n", 0, {"y"}),
              testing::HasSubstr("input X reads \"b\", which has no value: block 0, op 0 "
                                 "(select_output) did not write it"));
}

// What is dropped after a block depends on no condition, and each time in a loop on which it is.
TEST(Blocks, DrawTheSameNumbers) {
  for (const char* holds : {"0", "1"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var x f32[20]
        var y f32[20]
        var c bool[1]
        var i i64[1]
        var end i64[1]
        var goes_on bool[1]
        assign(X=x) -> (Out=y)
        conditional_block(Cond=c, Input=x) -> (Out=y, Scope=[]) {
          sub_block=block(1), is_scalar_condition=true}
        less_than(X=i, Y=end) -> (Out=goes_on)
        while(X=[y, i, end], Condition=goes_on) -> (Out=[y, i, goes_on], StepScopes=[]) {
          sub_block=block(2)}
        dropout(X=y) -> (Out=z, Mask=m) {dropout_prob=0.3}
      }
      block 1 parent=0 {
        var m1 u8[20]
        dropout(X=x) -> (Out=y, Mask=m1) {dropout_prob=0.1}
      }
      block 2 parent=0 {
        var m2 u8[20]
        dropout(X=y) -> (Out=y, Mask=m2) {dropout_prob=0.1}
        increment(X=i) -> (Out=i)
        less_than(X=i, Y=end) -> (Out=goes_on)
      })",
                            absl::StrCat("x f32[20] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
                                         "19 20\ni i64[1] 0\nend i64[1] 4\nc bool[1] ",
                                         holds, "\n"),
                            1e-6, {"y", "z", "i"}),
              "");
  }
}

TEST(PiecewiseSchedule, ChangesTheRateAtItsBoundaries) {
  Program main = EmptyProgram(1, 8, 5);
  Program startup = EmptyProgram(1, 8, 5);
  ProgramBuilder builder(&main, &startup);
  const std::string rate = LearningRate::Piecewise({2, 3}, {0.5f, 0.25f, 0.125f}).Append(builder);
  ASSERT_TRUE(builder.status().ok()) << builder.status();
  Scope scope;
  ASSERT_TRUE((*Executor::Create(startup, &scope))->Run({}, {}, 0).ok());
  const auto executor = Executor::Create(main, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  std::vector<float> rates;
  for (uint32_t step = 0; step < 5; ++step) {
    const auto run = (*executor)->Run({}, {rate}, step);
    ASSERT_TRUE(run.ok()) << run.status();
    rates.push_back((*run)[0].data<float>()[0]);
  }
  EXPECT_EQ(rates, std::vector<float>({0.5f, 0.5f, 0.25f, 0.125f, 0.125f}));
}

}  // namespace
}  // namespace fixpoint::executor
