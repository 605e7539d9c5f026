// Arrays of tensors, and sequences step by step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

// Sequences of 2, 0, 3 and 2 rows.
constexpr char kSequences[] = "x f32[7,1] lod={0,2,2,5,7} 1 2 3 4 5 6 7\n";

TEST(LodRankTable, PutsTheLongestSequenceFirst) {
  EXPECT_EQ(RunOps("lod_rank_table(X=x) -> (Out=t) {level=0}\n"
                   "max_sequence_len(RankTable=t) -> (Out=n)",
                   kSequences),
            "n i64[1] 3\nt i64[4,2] 2 3 0 2 3 2 1 0\n");
}

TEST(LodRankTable, WantsALevelOfOffsets) {
  for (const char* level : {"-1", "1"}) {
    EXPECT_EQ(
        RunOps(absl::StrCat("lod_rank_table(X=x) -> (Out=t) {level=", level, "}"), kSequences),
        absl::StrCat("block 0, op 0 (lod_rank_table): level is ", level,
                     " and X has 1 levels of offsets; want one of them"));
  }
}

// Each step has the rows of the sequences that are longer, in the order of the table.
TEST(LodTensorToArray, CutsSequencesIntoSteps) {
  EXPECT_EQ(RunOps(R"(var a tensor_array f32[1] lod=0
                      fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
                      fill_constant() -> (Out=two) {shape=[1L], dtype=3, value=2.0}
                      fill_constant() -> (Out=three) {shape=[1L], dtype=3, value=3.0}
                      lod_rank_table(X=x) -> (Out=t) {level=0}
                      lod_tensor_to_array(X=x, RankTable=t) -> (Out=a)
                      read_from_array(X=a, I=one) -> (Out=second)
                      read_from_array(X=a, I=two) -> (Out=third)
                      read_from_array(X=a, I=three) -> (Out=none)
                      lod_array_length(X=a) -> (Out=length)
                      array_to_lod_tensor(X=a, RankTable=t) -> (Out=again))",
                   kSequences),
            "again f32[7,1] lod={0,2,2,5,7} 1 2 3 4 5 6 7\nlength i64[1] 3\nnone f32[0] \n"
            "one i64[1] 1\nsecond f32[3,1] 4 2 7\nt i64[4,2] 2 3 0 2 3 2 1 0\n"
            "third f32[1,1] 5\nthree i64[1] 3\ntwo i64[1] 2\n");
}

// A step of sequences of sequences is a sequence of each.
TEST(LodTensorToArray, KeepsTheLevelsBelow) {
  EXPECT_EQ(RunOps(R"(var a tensor_array f32[1] lod=0
                      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
                      lod_rank_table(X=x) -> (Out=t) {level=0}
                      lod_tensor_to_array(X=x, RankTable=t) -> (Out=a)
                      read_from_array(X=a, I=zero) -> (Out=first)
                      array_to_lod_tensor(X=a, RankTable=t) -> (Out=again))",
                   "x f32[6,1] lod={0,1,3}{0,2,3,6} 1 2 3 4 5 6\n"),
            "again f32[6,1] lod={0,1,3}{0,2,3,6} 1 2 3 4 5 6\n"
            "first f32[3,1] lod={0,1,3} 3 1 2\nt i64[2,2] 1 2 0 1\nzero i64[1] 0\n");
}

TEST(ShrinkRnnMemory, KeepsTheRowsOfLongerSequences) {
  constexpr char kText[] = R"(lod_rank_table(X=x) -> (Out=t) {level=0}
                              shrink_rnn_memory(X=h, RankTable=t, I=i) -> (Out=y)
                              shrink_rnn_memory_grad(X=h, Out@GRAD=g) -> (X@GRAD=d))";
  EXPECT_EQ(RunOps(kText, absl::StrCat(kSequences, "h f32[4,1] 1 2 3 4\ni i64[1] 1\n",
                                       "g f32[3,1] 7 8 9\n")),
            "d f32[4,1] 7 8 9 0\nt i64[4,2] 2 3 0 2 3 2 1 0\ny f32[3,1] 1 2 3\n");
}

TEST(ReorderByRank, PutsRowsInTheOrderOfTheTable) {
  EXPECT_EQ(RunOps(R"(lod_rank_table(X=x) -> (Out=t) {level=0}
                      reorder_lod_tensor_by_rank(X=h, RankTable=t) -> (Out=y)
                      reorder_lod_tensor_by_rank(X=x, RankTable=t) -> (Out=z))",
                   absl::StrCat(kSequences, "h f32[4,1] 1 2 3 4\n")),
            "t i64[4,2] 2 3 0 2 3 2 1 0\ny f32[4,1] 3 1 4 2\n"
            "z f32[7,1] lod={0,3,5,7,7} 3 4 5 1 2 6 7\n");
}

TEST(TensorArrayToTensor, JoinsOrStacks) {
  constexpr char kText[] = R"(var a tensor_array f32[2] lod=0
                              fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
                              fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
                              write_to_array(X=x, I=zero) -> (Out=a)
                              write_to_array(X=y, I=one) -> (Out=a)
                              tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {)";
  constexpr char kValues[] = "x f32[1,2] 1 2\ny f32[1,2] 3 4\n";
  EXPECT_EQ(RunOps(absl::StrCat(kText, "axis=1}"), kValues),
            "n i32[2] 2 2\none i64[1] 1\nz f32[1,4] 1 2 3 4\nzero i64[1] 0\n");
  EXPECT_EQ(RunOps(absl::StrCat(kText, "axis=0, use_stack=true}"), kValues),
            "n i32[2] 1 1\none i64[1] 1\nz f32[2,1,2] 1 2 3 4\nzero i64[1] 0\n");
}

TEST(TensorArrays, AreNoTensors) {
  constexpr char kArray[] =
      "var a tensor_array f32[1] lod=0\nwrite_to_array(X=x, I=i) -> (Out=a)\n";
  constexpr char kValues[] = "x f32[2] 1 2\ni i64[1] 0\n";
  EXPECT_EQ(RunOps(absl::StrCat(kArray, "relu(X=a) -> (Out=y)"), kValues),
            "block 0, op 1 (relu): input X reads \"a\", an array of tensors; want a tensor");
  EXPECT_EQ(RunOps("read_from_array(X=x, I=i) -> (Out=y)", kValues),
            "block 0, op 0 (read_from_array): X is a tensor [2]; want an array of tensors");
}

TEST(WriteToArray, WantsAPlaceThatAnArrayMayHave) {
  for (const char* place : {"-1", "1048576"}) {
    EXPECT_EQ(RunOps("var a tensor_array f32[1] lod=0\nwrite_to_array(X=x, I=i) -> (Out=a)",
                     absl::StrCat("x f32[1] 1\ni i64[1] ", place, "\n")),
              absl::StrCat("block 0, op 0 (write_to_array): I is ", place, "; want 0 to 1048575"));
  }
}

}  // namespace
}  // namespace fixpoint::reference
