// Ops over sequences.

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

// Rows 0 and 1 are a sequence, row 2 is one, and there is an empty one after them.
constexpr char kSequences[] = "x f32[3,2] lod={0,2,3,3} 1 8 3 4 5 6\n";

TEST(SequenceOps, OffsetsGoAlongWithTheRows) {
  EXPECT_EQ(RunOps("relu(X=x) -> (Out=y)", kSequences), "y f32[3,2] lod={0,2,3,3} 1 8 3 4 5 6\n");
}

// As in the reference, whose transpiler declares what it quantizes without levels.
TEST(SequenceOps, OffsetsGoAlongWhateverIsDeclared) {
  EXPECT_EQ(RunOps("var y f32[3,2] lod=0\nrelu(X=x) -> (Out=y)", kSequences),
            "y f32[3,2] lod={0,2,3,3} 1 8 3 4 5 6\n");
}

TEST(SequenceOps, PoolingLeavesTheOuterLevels) {
  EXPECT_EQ(RunOps("sequence_pool(X=x) -> (Out=y) {pooltype=\"SUM\"}\n"
                   "sequence_pool(X=y) -> (Out=z) {pooltype=\"SUM\"}\n",
                   "x f32[3,1] lod={0,2}{0,2,3} 1 2 3\n"),
            "y f32[2,1] lod={0,2} 3 3\nz f32[1,1] 6\n");
}

TEST(SequenceOps, PoolEachSequenceToARow) {
  const auto pool = [](const std::string& type) {
    return RunOps("sequence_pool(X=x) -> (Out=y) {pooltype=\"" + type + "\", pad_value=-1.0}",
                  kSequences);
  };
  EXPECT_EQ(pool("AVERAGE"), "y f32[3,2] 2 6 5 6 -1 -1\n");
  EXPECT_EQ(pool("SUM"), "y f32[3,2] 4 12 5 6 -1 -1\n");
  EXPECT_EQ(pool("SQRT"), "y f32[3,2] 2.82842708 8.48528099 5 6 -1 -1\n");
  EXPECT_EQ(pool("MAX"), "y f32[3,2] 3 8 5 6 -1 -1\n");
  EXPECT_EQ(pool("LAST"), "y f32[3,2] 3 4 5 6 -1 -1\n");
  EXPECT_EQ(pool("FIRST"), "y f32[3,2] 1 8 5 6 -1 -1\n");
}

TEST(SequenceOps, AContextEndsWhereItsSequenceDoes) {
  EXPECT_EQ(RunOps("sequence_conv(X=x, Filter=w) -> (Out=y) {contextLength=3, contextStart=-1}",
                   "x f32[3,1] lod={0,2,3} 1 2 3\nw f32[3,1] 100 10 1\n"),
            "y f32[3,1] lod={0,2,3} 12 120 30\n");
}

TEST(SequenceOps, SoftmaxIsOverEachSequence) {
  EXPECT_EQ(RunOps("sequence_softmax(X=x) -> (Out=y)", "x f32[3,1] lod={0,2,3} 7 7 1\n"),
            "y f32[3,1] lod={0,2,3} 0.5 0.5 1\n");
}

TEST(SequenceOps, RefuseOffsetsThatDoNotFit) {
  EXPECT_EQ(RunOps("sequence_pool(X=x) -> (Out=y)", "x f32[2,1] 1 2\n"),
            "block 0, op 0 (sequence_pool): X [2, 1] has no offsets of sequences; want a level of "
            "them");
  EXPECT_EQ(RunOps("sequence_pool(X=x) -> (Out=y)", "x f32[2,1] lod={0,3} 1 2\n"),
            "block 0, op 0 (sequence_pool): X [2, 1] has offsets up to 3; want them ascending from "
            "0 to the number of its rows");
}

}  // namespace
}  // namespace fixpoint::reference
