// Programs whose blocks do not fit together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

struct BadProgram {
  const char* name;
  const char* text;
  const char* message;
};

class ProgramCreateTest : public testing::TestWithParam<BadProgram> {};

TEST_P(ProgramCreateTest, SaysWhatIsWrong) {
  const auto desc = ParseProgramText(GetParam().text, "program.txt");
  ASSERT_TRUE(desc.ok()) << desc.status();
  const absl::Status status = Program::Create(*desc, "program.txt").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), GetParam().message);
}

constexpr BadProgram kBadPrograms[] = {
    {"NoBlock", "program", "program.txt: the program has no block; block 0 is its main block"},
    {"IdxIsNotThePosition", "block 1 {\n}",
     "program.txt: block 0 says that it is block 1; blocks stand in the order of their idx"},
    {"MainBlockHasAParent", "block 0 parent=0 {\n}",
     "program.txt: block 0: parent_idx is 0; that of block 0 is -1"},
    {"ParentIsMissing", "block 0 {\n}\nblock 1 parent=-1 {\n}",
     "program.txt: block 1: parent_idx is -1; a parent stands before its block"},
    {"ParentIsTheBlockItself", "block 0 {\n}\nblock 1 parent=1 {\n}",
     "program.txt: block 1: parent_idx is 1; a parent stands before its block"},
    {"ParentComesLater", "block 0 {\n}\nblock 1 parent=2 {\n}\nblock 2 parent=0 {\n}",
     "program.txt: block 1: parent_idx is 2; a parent stands before its block"},
    {"ForwardBlockComesLater",
     "block 0 {\n}\nblock 1 parent=0 forward=2 {\n}\nblock 2 parent=0 {\n}",
     "program.txt: block 1: forward_block_idx is 2; the forward block stands before its gradient "
     "block"},
    {"OpRunsItsOwnBlock", "relu() -> ()\nwhile() -> () {sub_block=block(0)}",
     "program.txt: block 0, op 1 (while): attribute sub_block is block 0; the block that an op "
     "runs "
     "stands after the op's own, and the program has 1"},
    {"BlocksRunEachOther",
     "block 0 {\n  while() -> () {sub_block=block(1)}\n}\n"
     "block 1 parent=0 {\n  while() -> () {sub_block=block(0)}\n}",
     "program.txt: block 1, op 0 (while): attribute sub_block is block 0; the block that an op "
     "runs "
     "stands after the op's own, and the program has 2"},
    {"OpRunsABlockThatIsNotThere", "while() -> () {sub_block=block(7)}",
     "program.txt: block 0, op 0 (while): attribute sub_block is block 7; the block that an op "
     "runs "
     "stands after the op's own, and the program has 1"},
    {"OneOfSeveralBlocksIsNotThere",
     "block 0 {\n  switch() -> () {cases=[block(1), block(-1)]}\n}\nblock 1 parent=0 {\n}",
     "program.txt: block 0, op 0 (switch): attribute cases is block -1; the block that an op runs "
     "stands after the op's own, and the program has 2"},
};

INSTANTIATE_TEST_SUITE_P(Bad, ProgramCreateTest, testing::ValuesIn(kBadPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

// A program of blocks, each in the one before.
ProgramDesc Nested(int blocks) {
  ProgramDesc program;
  for (int i = 0; i < blocks; ++i) {
    BlockDesc* block = program.add_blocks();
    block->set_idx(i);
    block->set_parent_idx(i - 1);
  }
  return program;
}

TEST(ProgramCreate, BlocksNestAsDeepAs256) {
  EXPECT_TRUE(Program::Create(Nested(257)).ok());
  EXPECT_EQ(std::string(Program::Create(Nested(258)).status().message()),
            "block 257 is nested deeper than 256 blocks");
}

TEST(ProgramCreate, OpsThatRunBlocksCountAsNestingToo) {
  ProgramDesc program = Nested(1);
  for (int i = 1; i < 300; ++i) {
    OpDesc* op = program.mutable_blocks(i - 1)->add_ops();
    op->set_type("while");
    OpDesc::Attr* attr = op->add_attrs();
    attr->set_name("sub_block");
    attr->set_type(AttrType::BLOCK);
    attr->set_block_idx(i);
    BlockDesc* block = program.add_blocks();
    block->set_idx(i);
    block->set_parent_idx(0);
  }
  EXPECT_EQ(std::string(Program::Create(program).status().message()),
            "block 257 is nested deeper than 256 blocks");
}

// Twenty blocks below block 0 that each declare x and read it, and one that only reads it.
TEST(ProgramCreate, ANameThatManyBlocksDeclareIsEachBlocksOwn) {
  ProgramDesc desc = Nested(1);
  for (int i = 1; i <= 21; ++i) {
    BlockDesc* block = desc.add_blocks();
    block->set_idx(i);
    block->set_parent_idx(i == 21 ? 20 : 0);
    if (i <= 20) *block->add_vars() = MakeTensorVar("x", VarType::FP32, {i});
    *block->add_ops() = OpBuilder("relu").Input("X", "x").Output("Out", "y").Build();
  }
  Program program = *Program::Create(desc);
  const auto read_in = [&](int block) {
    return program.block(block).first_op()->Input("X")->variable()->block().index();
  };
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(read_in(i), i);
  EXPECT_EQ(read_in(21), 20);

  Rewriter rewriter(&program, "test");
  const Op& op = *program.block(5).first_op();
  rewriter.SetArgument(*op.Input("X"), "y");
  rewriter.Remove(*program.Find(program.block(5), "x"));
  EXPECT_EQ(program.Find(program.block(5), "x"), nullptr);
  EXPECT_EQ(program.Find(program.block(6), "x")->block().index(), 6);
  program.RevertEdits();
  EXPECT_EQ(read_in(5), 5);
}

TEST(ProgramCreate, AnEmptyProgramHasOneBlock) {
  const Program program;
  EXPECT_EQ(program.block_count(), 1);
  EXPECT_EQ(program.block(0).op_count(), 0);
  EXPECT_EQ(program.version(), 0);
}

TEST(ProgramCreate, RefusesAMessageThatLacksARequiredField) {
  ProgramDesc desc;
  BlockDesc* block = desc.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  block->add_ops();
  EXPECT_EQ(
      Program::Create(desc).status(),
      absl::InvalidArgumentError("the program: block 0, op 0: type is missing; it is required"));
}

}  // namespace
}  // namespace fixpoint
