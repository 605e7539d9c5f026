// Inserting and removing ops and blocks: where ops stand, and which there are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "tests/proto/program/rewriter_fixture.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

TEST_F(RewriterTest, InsertsWhereItIsTold) {
  rewriter_.InsertBefore(OpAt(program_, 1), Relu("x", "before"));
  rewriter_.InsertAfter(OpAt(program_, 2), Relu("x", "after"));
  rewriter_.Prepend(program_.block(0), Relu("x", "first"));
  rewriter_.Append(program_.block(0), Relu("x", "last"));
  EXPECT_EQ(Ops(program_),
            "relu(X=x) -> (Out=first)\n"
            "relu(X=x) -> (Out=a)\n"
            "relu(X=x) -> (Out=before)\n"
            "sum(X=[a, w]) -> (Out=b) {axis=1, name=\"s\"}\n"
            "relu(X=x) -> (Out=after)\n"
            "relu(X=x) -> (Out=last)\n");
  EXPECT_EQ(program_.edit_count(), 4);
}

TEST_F(RewriterTest, KeepsTheOrderOfOpsWithoutCounting) {
  const Op& a = OpAt(program_, 0);
  const Op& b = OpAt(program_, 1);
  const Op& between = rewriter_.InsertAfter(a, Relu("x", "t"));
  EXPECT_TRUE(a.IsBefore(between));
  EXPECT_TRUE(between.IsBefore(b));
  EXPECT_FALSE(b.IsBefore(between));
  EXPECT_EQ(between.Index(), 1);
}

TEST_F(RewriterTest, TellsPositionsAsTheyAreBetweenEdits) {
  const Op& a = OpAt(program_, 0);
  const Op& b = OpAt(program_, 1);
  EXPECT_EQ(b.Index(), 1);
  const Op& head = rewriter_.Prepend(program_.block(0), Relu("x", "head"));
  EXPECT_EQ(a.Index(), 1);
  EXPECT_EQ(b.Index(), 2);
  rewriter_.Remove(a);
  EXPECT_EQ(b.Index(), 1);
  EXPECT_EQ(a.Index(), 1) << "a removed op would stand there again";
  rewriter_.Remove(head);
  EXPECT_EQ(a.Index(), 0);
  program_.RevertEdits();
  EXPECT_EQ(a.Index(), 0);
  EXPECT_EQ(b.Index(), 1);
}

TEST_F(RewriterTest, CountsPositionsAnewOnceEditsAreForgotten) {
  const Op& a = OpAt(program_, 0);
  const Op& b = OpAt(program_, 1);
  const Op& head = rewriter_.Prepend(program_.block(0), Relu("x", "head"));
  rewriter_.Remove(a);
  EXPECT_EQ(b.OriginalIndex(), 1);
  program_.ForgetEdits();
  EXPECT_EQ(head.Index(), 0);
  EXPECT_EQ(b.Index(), 1);
  EXPECT_EQ(head.OriginalIndex(), 0) << "it stands in the file now";
  EXPECT_EQ(b.OriginalIndex(), 1);
}

TEST_F(RewriterTest, KeepsPositionsWhereALogIsAdopted) {
  rewriter_.Remove(OpAt(program_, 0));
  rewriter_.Append(program_.block(0), Relu("x", "c"));
  EditLog log;
  program_.MakeEditLog(&log);
  Program loaded = *Program::Create(program_.Proto());
  const Op& b = OpAt(loaded, 0);
  const Op& c = OpAt(loaded, 1);
  ASSERT_TRUE(loaded.AdoptEditLog(log).ok());
  EXPECT_EQ(b.Index(), 0);
  EXPECT_EQ(c.Index(), 1);
  EXPECT_EQ(b.OriginalIndex(), 1) << "an op stood before it";
  loaded.RevertEdits();
  EXPECT_EQ(b.Index(), 1);
}

TEST(Rewriter, CountsPositionsInEachBlock) {
  Program program = ParsedProgram(R"(program
block 0 {
  var c bool[1]
  conditional_block(Cond=c) -> () {sub_block=block(1)}
}
block 1 parent=0 {
  relu(X=c) -> (Out=a)
  relu(X=a) -> (Out=b)
}
)");
  Rewriter rewriter(&program, "test");
  const Op& inner = *program.block(1).first_op()->next();
  EXPECT_EQ(inner.Index(), 1);
  rewriter.Prepend(program.block(0), Relu("c", "head"));
  EXPECT_EQ(inner.Index(), 1);
  rewriter.Prepend(program.block(1), Relu("c", "head"));
  EXPECT_EQ(inner.Index(), 2);
  EXPECT_EQ(program.block(0).first_op()->next()->Index(), 1);
}

// Labels run out between two neighbours after about 60 halvings, and are then spread anew.
TEST_F(RewriterTest, HasRoomForManyOpsAtOnePlace) {
  constexpr int kCount = 100000;
  const Op& first = OpAt(program_, 0);
  for (int i = 0; i < kCount; ++i) rewriter_.InsertAfter(first, Relu("x", "t"));
  EXPECT_EQ(program_.block(0).op_count(), kCount + 2);
  const Op* previous = nullptr;
  int count = 0;
  for (const Op& op : program_.block(0).ops()) {
    ASSERT_TRUE(previous == nullptr || previous->IsBefore(op)) << count;
    previous = &op;
    ++count;
  }
  EXPECT_EQ(count, kCount + 2);
  EXPECT_EQ(previous->type(), "sum");
}

TEST_F(RewriterTest, HasRoomForManyOpsAtTheHeadAndAtTheEnd) {
  for (int i = 0; i < 1000; ++i) {
    rewriter_.Prepend(program_.block(0), Relu("x", "head"));
    rewriter_.Append(program_.block(0), Relu("x", "end"));
  }
  for (const Op& op : program_.block(0).ops()) {
    ASSERT_TRUE(op.next() == nullptr || op.IsBefore(*op.next()));
  }
}

TEST_F(RewriterTest, RemovedOpsAreNoNeighboursAndNoReaders) {
  const Op& a = OpAt(program_, 0);
  const Op& b = OpAt(program_, 1);
  rewriter_.Remove(a);
  EXPECT_TRUE(a.removed());
  EXPECT_EQ(program_.block(0).first_op(), &b);
  EXPECT_EQ(b.previous(), nullptr);
  EXPECT_EQ(program_.block(0).op_count(), 1);
  EXPECT_FALSE(program_.Find(program_.block(0), "x")->is_used());
  EXPECT_THAT(program_.block(0).removed_ops(), ElementsAre(&a));
  EXPECT_EQ(Ops(program_), "sum(X=[a, w]) -> (Out=b) {axis=1, name=\"s\"}\n");
}

TEST_F(RewriterTest, RemovalInALoopOverTheOpsIsSafe) {
  for (const Op& op : program_.block(0).ops()) rewriter_.Remove(op);
  EXPECT_EQ(program_.block(0).first_op(), nullptr);
  EXPECT_EQ(program_.block(0).last_op(), nullptr);
  EXPECT_EQ(Ops(program_), "");
}

TEST(Rewriter, RemovalAndInsertionInALoopOverTheOpsOfAllBlocksAreSafe) {
  Program program = ParsedProgram(R"(
    block 0 {
      relu(X=a) -> (Out=b)
      while(Condition=c) -> (Out=d) {sub_block=block(2)}
    }
    block 1 parent=0 {
    }
    block 2 parent=0 {
      tanh(X=b) -> (Out=b)
      sigmoid(X=b) -> (Out=b)
    }
    block 3 parent=0 {
    }
  )");
  Rewriter rewriter(&program, "test");
  std::vector<std::string> types;
  for (const Op& op : program.ops()) {
    types.emplace_back(op.type());
    if (types.size() == 1) rewriter.InsertAfter(op, Relu("b", "e"));
    if (types.back() == "tanh" || types.size() == 2) rewriter.Remove(op);
  }
  EXPECT_THAT(types, ElementsAre("relu", "relu", "while", "tanh", "sigmoid"));
  types.clear();
  for (const Op& op : program.ops()) types.emplace_back(op.type());
  EXPECT_THAT(types, ElementsAre("relu", "while", "sigmoid"));
}

TEST(Program, OfEmptyBlocksHasNoOps) {
  const Program program = ParsedProgram("block 0 {\n}\nblock 1 parent=0 {\n}\n");
  EXPECT_EQ(program.ops().begin(), program.ops().end());
}

TEST_F(RewriterTest, AnOpIsBuiltInTheProgramsMemory) {
  const Op& op =
      rewriter_.Append(program_.block(0), rewriter_.New("relu").Input("X", "x").Output("Out", "c"));
  EXPECT_EQ(PrintOp(op.desc()), "relu(X=x) -> (Out=c)");
  EXPECT_EQ(op.desc().GetArena(), program_.Proto().GetArena());
}

TEST(Rewriter, ABlockThatTwoOpsRunKeepsAnOwner) {
  Program program = ParsedProgram(R"(
    block 0 {
      while() -> () {sub_block=block(1)}
      while() -> () {sub_block=block(1)}
    }
    block 1 parent=0 {
    }
  )");
  const Op& first = OpAt(program, 0);
  const Op& second = OpAt(program, 1);
  Rewriter rewriter(&program, "test");
  EXPECT_EQ(program.block(1).owner(), &first);
  rewriter.Remove(first);
  EXPECT_EQ(program.block(1).owner(), &second);
  const Op& third = rewriter.Prepend(program.block(0), second.desc());
  rewriter.Remove(second);
  EXPECT_EQ(program.block(1).owner(), &third);
  rewriter.Remove(third);
  EXPECT_EQ(program.block(1).owner(), nullptr);
  program.RevertEdits();
  EXPECT_EQ(program.block(1).owner(), &first);
}

// Searching all ops for another runner of each block would not finish.
TEST(Rewriter, RemovesAnOpThatRunsManyBlocks) {
  constexpr int kBlocks = 20000;
  ProgramDesc desc = ParsedProgram("while() -> ()").Proto();
  OpDesc& op = *desc.mutable_blocks(0)->mutable_ops(0);
  OpDesc::Attr& attr = *op.add_attrs();
  attr.set_name("blocks");
  attr.set_type(AttrType::BLOCKS);
  for (int i = 1; i <= kBlocks; ++i) {
    attr.add_blocks_idx(i);
    BlockDesc& block = *desc.add_blocks();
    block.set_idx(i);
    block.set_parent_idx(0);
  }
  for (int i = 0; i < kBlocks; ++i) desc.mutable_blocks(0)->add_ops()->set_type("relu");
  *desc.mutable_blocks(0)->add_ops() = op;
  Program program = *Program::Create(desc);
  const Op* last = program.block(0).last_op();
  Rewriter(&program, "test").Remove(OpAt(program, 0));
  EXPECT_EQ(program.block(1).owner(), last);
  EXPECT_EQ(program.block(kBlocks).owner(), last);
}

TEST(Rewriter, AddsABlockThatAnOpRuns) {
  Program program = ParsedProgram(R"(
    var c bool[1]
    var x f32[2]
  )");
  Rewriter rewriter(&program, "test");
  const Block& block = rewriter.AddBlock(program.block(0));
  rewriter.Append(block, OpBuilder("relu").Input("X", "x").Output("Out", "x").Build());
  const Op& op = rewriter.Append(program.block(0), OpBuilder("conditional_block")
                                                       .Input("Cond", "c")
                                                       .Attr(MakeBlockAttr("sub_block", 1))
                                                       .Build());
  EXPECT_EQ(block.owner(), &op);
  EXPECT_EQ(program.Find(block, "x"), program.Find(program.block(0), "x"));
  EXPECT_EQ(PrintProgram(program.Proto()), R"(program
block 0 {
  var c bool[1]
  var x f32[2]
  conditional_block(Cond=c) {sub_block=block(1)}
}
block 1 parent=0 {
  relu(X=x) -> (Out=x)
}
)");
  program.RevertEdits();
  EXPECT_EQ(program.block_count(), 1);
}

}  // namespace
}  // namespace fixpoint
