// Arrays of tensors and sequences step by step, on the executor and on the reference interpreter.

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

// Sequences of 2, 0, 3 and 2 rows.
constexpr char kSequences[] =
    "x f32[7,2] lod={0,2,2,5,7} 1 -2 3 -4 5 -6 7 -8 9 -10 11 -12 13 -14\n";

TEST(LodTensorToArray, CutsSequencesIntoStepsAndJoinsThemAgain) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
    block 0 {
      var x f32[-1,2] lod=1
      var t lod_rank_table
      var a tensor_array f32[-1,2] lod=0
      var i i64[1]
      lod_rank_table(X=x) -> (Out=t) {level=0}
      max_sequence_len(RankTable=t) -> (Out=longest)
      lod_tensor_to_array(X=x, RankTable=t) -> (Out=a)
      lod_array_length(X=a) -> (Out=length)
      read_from_array(X=a, I=i) -> (Out=row)
      scale(X=row) -> (Out=twice) {scale=2.0}
      array_to_lod_tensor(X=a, RankTable=t) -> (Out=again)
    })",
                          absl::StrCat(kSequences, "i i64[1] 1\n"), 0,
                          {"longest", "length", "twice", "again"}),
            "");
}

// Along its axis of rows it would have to know how many there are.
TEST(Split, TakesPartsOfRowsThatARunDecides) {
  const auto differences = [](const char* split) {
    return OpDifferences(absl::StrCat(R"(program version=2006002
    block 0 {
      var x f32[-1,2] lod=1
      var t lod_rank_table
      var a tensor_array f32[-1,2] lod=0
      var row f32[-1,2]
      fill_constant() -> (Out=i) {shape=[1L], dtype=3, value=1.0}
      lod_rank_table(X=x) -> (Out=t) {level=0}
      lod_tensor_to_array(X=x, RankTable=t) -> (Out=a)
      read_from_array(X=a, I=i) -> (Out=row)
      split(X=row) -> (Out=[p, q]) )",
                                      split, R"(
      scale(X=p) -> (Out=y) {scale=2.0}
      scale(X=q) -> (Out=z) {scale=3.0}
    })"),
                         kSequences, 0, {"y", "z"});
  };
  EXPECT_EQ(differences("{axis=1, num=2}"), "");
  EXPECT_THAT(differences("{axis=0, sections=[1, 2]}"),
              testing::HasSubstr("decides in a run; want ones that are known before"));
}

TEST(ReorderLodTensorByRank, OrdersRowsOrSequencesByTheTable) {
  for (const char* again : {"h", "y"}) {
    EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
    block 0 {
      var x f32[-1,2] lod=1
      var y f32[-1,3] lod=1
      var h f32[-1,3]
      var t lod_rank_table
      var out f32[-1,3]
      lod_rank_table(X=x) -> (Out=t) {level=0}
      reorder_lod_tensor_by_rank(X=)",
                                         again, R"(, RankTable=t) -> (Out=out)
      scale(X=out) -> (Out=twice) {scale=2.0}
    })"),
                            absl::StrCat(kSequences, Drawn("h", {4, 3}),
                                         "y f32[3,3] lod={0,0,2,3,3} 1 2 3 4 5 6 7 8 9\n"),
                            0, {"twice"}),
              "");
  }
}

TEST(ReorderLodTensorByRank, WantsAsManyRowsAsTheTableHasSequences) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
    block 0 {
      var x f32[-1,2] lod=1
      var h f32[-1,3]
      var t lod_rank_table
      var out f32[-1,3]
      lod_rank_table(X=x) -> (Out=t) {level=0}
      reorder_lod_tensor_by_rank(X=h, RankTable=t) -> (Out=out)
    })",
                            absl::StrCat(kSequences, Drawn("h", {3, 3})), 0, {"out"}),
              testing::HasSubstr("X has 3 entries and RankTable 4"));
}

// A recurrent network over sequences of several lengths, as DynamicRNN of 1.x writes it: the state
// of a step is that of the sequences that go on.
constexpr char kRecurrent[] = R"(program version=2006002
  block 0 {
    var x f32[-1,2] lod=1
    var h0 f32[4,3]
    var w f32[2,3]
    var u f32[3,3]
    var b f32[3]
    var t lod_rank_table
    var inputs tensor_array f32[-1,2] lod=0
    var states tensor_array f32[-1,3] lod=0
    var outputs tensor_array f32[-1,3] lod=0
    fill_constant() -> (Out=i) {shape=[1L], dtype=3, value=0.0}
    fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
    lod_rank_table(X=x) -> (Out=t) {level=0}
    max_sequence_len(RankTable=t) -> (Out=longest)
    less_than(X=i, Y=longest) -> (Out=goes_on)
    lod_tensor_to_array(X=x, RankTable=t) -> (Out=inputs)
    write_to_array(X=h0, I=zero) -> (Out=states)
    while(X=[w, u, b, t, i, longest, inputs, states], Condition=goes_on) -> (
      Out=[i, states, outputs, goes_on], StepScopes=[]) {sub_block=block(1)}
    array_to_lod_tensor(X=outputs, RankTable=t) -> (Out=y)
    relu(X=y) -> (Out=z)
  }
  block 1 parent=0 {
    var row f32[-1,2]
    var before f32[-1,3]
    var state f32[-1,3]
    var xw f32[-1,3]
    var hu f32[-1,3]
    var both f32[-1,3]
    var sum f32[-1,3]
    var h f32[-1,3]
    var p f32[-1,3]
    read_from_array(X=inputs, I=i) -> (Out=row)
    read_from_array(X=states, I=i) -> (Out=before)
    shrink_rnn_memory(X=before, RankTable=t, I=i) -> (Out=state)
    mul(X=row, Y=w) -> (Out=xw)
    mul(X=state, Y=u) -> (Out=hu)
    sum(X=[xw, hu]) -> (Out=both)
    elementwise_add(X=both, Y=b) -> (Out=sum) {axis=1}
    tanh(X=sum) -> (Out=h)
    softmax(X=h) -> (Out=p) {axis=-1}
    write_to_array(X=p, I=i) -> (Out=outputs)
    increment(X=i) -> (Out=i)
    write_to_array(X=h, I=i) -> (Out=states)
    less_than(X=i, Y=longest) -> (Out=goes_on)
  })";

TEST(TensorArrays, CarryStatesOfSequencesOfSeveralLengths) {
  EXPECT_EQ(OpDifferences(kRecurrent,
                          absl::StrCat(kSequences, Drawn("h0", {4, 3}), Drawn("w", {2, 3}),
                                       Drawn("u", {3, 3}), Drawn("b", {3})),
                          1e-6, {"y", "z", "i"}),
            "");
}

TEST(WriteToArray, KeepsTheOtherTensors) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
    block 0 {
      var x f32[2,3]
      var y f32[1,3]
      var a tensor_array f32[-1,3] lod=0
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=two) {shape=[1L], dtype=3, value=2.0}
      write_to_array(X=x, I=zero) -> (Out=a)
      write_to_array(X=y, I=two) -> (Out=a)
      lod_array_length(X=a) -> (Out=length)
      read_from_array(X=a, I=zero) -> (Out=first)
      read_from_array(X=a, I=two) -> (Out=last)
      assign(X=first) -> (Out=first_again)
      assign(X=last) -> (Out=last_again)
    })",
                          Drawn("x", {2, 3}) + Drawn("y", {1, 3}), 0,
                          {"length", "first_again", "last_again"}),
            "");
}

// What one run wrote is gone in the next.
TEST(TensorArrays, AreEmptyWhenARunBegins) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var x f32[2]
      var i i64[1] persistable
      var a tensor_array f32[2] lod=0
      write_to_array(X=x, I=i) -> (Out=a)
      increment(X=i) -> (Out=i) {step=-1.0}
      lod_array_length(X=a) -> (Out=length)
    })");
  Scope scope = *ParseParameters("x f32[2] 3 4\ni i64[1] 2\n", "values");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const int64_t length : {3, 2, 1}) {
    const auto run = (*executor)->Run({}, {"length"}, 0);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ((*run)[0].data<int64_t>()[0], length);
  }
}

// Tensors may differ in any extents.
TEST(ReadFromArray, GivesTensorsAsTheyWereWritten) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
    block 0 {
      var a tensor_array f32[-1,-1] lod=0
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
      write_to_array(X=x, I=zero) -> (Out=a)
      write_to_array(X=y, I=one) -> (Out=a)
      read_from_array(X=a, I=i) -> (Out=z)
      relu(X=z) -> (Out=positive)
      shape(Input=z) -> (Out=extents)
    })",
                          Drawn("x", {2, 3}) + Drawn("y", {3, 2}) + "i i64[1] 1\n", 0,
                          {"z", "positive", "extents"}),
            "");
}

TEST(WriteToArray, WantsTensorsOfOneTypeAndRank) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
    block 0 {
      var a tensor_array f32[-1,-1] lod=0
      write_to_array(X=x, I=i) -> (Out=a)
      write_to_array(X=y, I=i) -> (Out=a)
      lod_array_length(X=a) -> (Out=n)
    })",
                            Drawn("x", {2, 3}) + Drawn("y", {3}) + "i i64[1] 1\n", 0, {"n"}),
              testing::HasSubstr("X is f32 [3] and the array has f32 [2, 3]; want tensors of one "
                                 "type and rank"));
}

// What a block wrote in one run is gone in the next, where it does not run.
TEST(TensorArrays, AreEmptyWhereNoBlockWroteThem) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var x f32[2]
      var i i64[1] persistable
      var a tensor_array f32[2] lod=0
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=four) {shape=[1L], dtype=3, value=4.0}
      less_than(X=i, Y=zero) -> (Out=c)
      conditional_block(Cond=[c], Input=[x, four]) -> (Out=[a], Scope=[]) {
        sub_block=block(1), is_scalar_condition=true}
      write_to_array(X=x, I=zero) -> (Out=a)
      lod_array_length(X=a) -> (Out=length)
      increment(X=i) -> (Out=i) {step=1.0}
    }
    block 1 parent=0 {
      write_to_array(X=x, I=four) -> (Out=a)
    })");
  Scope scope = *ParseParameters("x f32[2] 3 4\ni i64[1] -1\n", "values");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const int64_t length : {5, 1}) {
    const auto run = (*executor)->Run({}, {"length"}, 0);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ((*run)[0].data<int64_t>()[0], length);
  }
}

// A loop that runs a block, which writes x in place `at` and counts it up, of an array that nothing
// wrote before.
std::string LoopOver(const std::string& runs_block, const std::string& block) {
  return absl::StrCat(R"(program version=2006002
    block 0 {
      var x f32[2]
      var a tensor_array f32[2] lod=0
      fill_constant() -> (Out=i) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=at) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=three) {shape=[1L], dtype=3, value=3.0}
      less_than(X=i, Y=three) -> (Out=goes_on)
      while(X=[x, i, at, three], Condition=goes_on) -> (Out=[a, i, at, goes_on], StepScopes=[]) {
        sub_block=block(1)}
      lod_array_length(X=a) -> (Out=length)
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      read_from_array(X=a, I=zero) -> (Out=first)
    }
    block 1 parent=0 {
      )",
                      runs_block, R"(
      increment(X=i) -> (Out=i)
      less_than(X=i, Y=three) -> (Out=goes_on)
    }
    block 2 parent=1 {
      write_to_array(X=x, I=at) -> (Out=a)
      increment(X=at) -> (Out=at)
      )",
                      block, R"(
    })");
}

TEST(TensorArrays, KeepWhatABlockInALoopWroteBefore) {
  const std::string conditional = LoopOver(
      R"(conditional_block(Cond=[goes_on], Input=[x, at]) -> (Out=[a, at], Scope=[]) {
        sub_block=block(2), is_scalar_condition=true})",
      "");
  const std::string loop = LoopOver(
      R"(fill_constant() -> (Out=j) {shape=[1L], dtype=3, value=0.0}
      less_than(X=j, Y=three) -> (Out=again)
      while(X=[x, j, at, three], Condition=again) -> (Out=[a, j, at, again], StepScopes=[]) {
        sub_block=block(2)})",
      R"(increment(X=j) -> (Out=j)
      less_than(X=j, Y=three) -> (Out=again))");
  for (const std::string& program : {conditional, loop}) {
    EXPECT_EQ(OpDifferences(program, "x f32[2] 3 4\n", 0, {"length", "first"}), "");
  }
}

// Nothing is planned for such a conditional, where the array is still what the loop carries.
TEST(TensorArrays, KeepWhatALoopWroteBeforeAConditionalThatNeverRuns) {
  const std::string never =
      R"(conditional_block(Cond=[none], Input=[x, three]) -> (Out=[a], Scope=[]) {
        sub_block=block(3), is_scalar_condition=false}
      )";
  const std::string never_block = R"(}
    block 3 parent=1 {
      write_to_array(X=x, I=three) -> (Out=a))";
  const std::string conditional =
      R"(conditional_block(Cond=[goes_on], Input=[x, at]) -> (Out=[a, at], Scope=[]) {
        sub_block=block(2), is_scalar_condition=true}
      )";
  const std::string op = "write_to_array(X=x, I=i) -> (Out=a)\n";
  for (const std::string& block : {never + conditional, never + op, op + never + conditional}) {
    EXPECT_EQ(OpDifferences(LoopOver(block, never_block), "x f32[2] 3 4\nnone bool[0]\n", 0,
                            {"length", "first"}),
              "")
        << block;
  }
}

TEST(TensorArrays, AreNoTensors) {
  const std::string error =
      "block 0, op 1 (relu): input X reads \"a\", an array of tensors; want a tensor\n";
  EXPECT_EQ(OpDifferences(R"(program version=2006002
    block 0 {
      var x f32[2]
      var i i64[1]
      var a tensor_array f32[2] lod=0
      write_to_array(X=x, I=i) -> (Out=a)
      relu(X=a) -> (Out=y)
    })",
                          "x f32[2] 3 4\ni i64[1] 0\n", 0, {"y"}),
            absl::StrCat("executor: ", error, "interpreter: ", error));
}

}  // namespace
}  // namespace fixpoint::executor
