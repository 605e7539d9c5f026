// Undoing edits: in memory, and from a log that was stored in the program.

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

constexpr char kText[] = R"(program
block 0 {
  var x f32[4]
  var w f32[4] persistable
  var unused f32[4]
  relu(X=x) -> (Out=a) {axis=1, name="r"}
  sum(X=[a, w]) -> (Out=b) {axis=1, name="s"}
  while(X=w, Condition=c) -> (Out=[], StepScopes=s) {sub_block=block(1)}
}
block 1 parent=0 {
  var t f32[4]
  mul(X=w, Y=w) -> (Out=t) {is_test=false, axis=1, is_test=false}
  relu(X=t) -> (Out=w) {is_test=false, axis=1, is_test=false}
}
)";

const Op& OpAt(const Program& program, int block, int index) {
  const Op* op = program.block(block).first_op();
  for (int i = 0; i < index; ++i) op = op->next();
  return *op;
}

OpDesc Relu(absl::string_view x, absl::string_view out) {
  return OpBuilder("relu").Input("X", x).Output("Out", out).Build();
}

void RemoveVariable(Program& program, Rewriter& rewriter, absl::string_view name) {
  rewriter.Remove(*program.Find(program.block(0), name));
}

// A loop at the end of block 0, and its block with a variable and an op.
void AddLoop(Program& program, Rewriter& rewriter) {
  const Block& block = rewriter.AddBlock(program.block(0));
  const std::string name = rewriter.FreshName("v");
  ASSERT_TRUE(rewriter.AddVariable(block, MakeTensorVar(name, VarType::FP32, {1})).ok());
  rewriter.Append(block, Relu("x", name));
  rewriter.Append(program.block(0), OpBuilder("while")
                                        .Input("Condition", "c")
                                        .Attr(MakeBlockAttr("sub_block", block.index()))
                                        .Build());
}

void Empty(const Block& block, Rewriter& rewriter) {
  rewriter.Remove(*block.owner());
  for (const Op& op : block.ops()) rewriter.Remove(op);
  for (const Variable* variable : block.variables()) rewriter.Remove(*variable);
}

// The last block, with the op that runs it.
void RemoveLoop(Program& program, Rewriter& rewriter) {
  Empty(program.block(program.block_count() - 1), rewriter);
  rewriter.RemoveLastBlock();
}

struct EditCase {
  const char* name;
  std::function<void(Program& program, Rewriter& rewriter)> edit;
};

std::vector<EditCase> EditCases() {
  return {
      {"Nothing", [](Program&, Rewriter&) {}},
      {"Insertions",
       [](Program& program, Rewriter& rewriter) {
         rewriter.Prepend(program.block(0), Relu("x", "first"));
         rewriter.Append(program.block(1), Relu("x", "last"));
         rewriter.InsertAfter(OpAt(program, 0, 1), Relu("x", "between"));
       }},
      {"Removals",
       [](Program& program, Rewriter& rewriter) {
         rewriter.Remove(OpAt(program, 0, 0));
         rewriter.Remove(OpAt(program, 1, 1));
         rewriter.Remove(OpAt(program, 1, 0));
       }},
      {"EveryOpIsRemoved",
       [](Program& program, Rewriter& rewriter) {
         for (const Op& op : program.block(0).ops()) rewriter.Remove(op);
       }},
      {"TheMapOfComposites",
       [](Program&, Rewriter& rewriter) {
         rewriter.SetComposites("a map");
         rewriter.SetComposites("another");
       }},
      {"RemovedAndInsertedAtOnePlace",
       [](Program& program, Rewriter& rewriter) {
         rewriter.InsertBefore(OpAt(program, 0, 1), Relu("x", "before"));
         rewriter.InsertAfter(OpAt(program, 0, 2), Relu("x", "after"));
         rewriter.Remove(OpAt(program, 0, 2));
       }},
      {"InsertedAndRemovedAgain",
       [](Program& program, Rewriter& rewriter) {
         rewriter.Remove(rewriter.Prepend(program.block(0), Relu("x", "first")));
       }},
      {"ARemovedLoop",
       [](Program& program, Rewriter& rewriter) { rewriter.Remove(OpAt(program, 0, 2)); }},
      {"ALoopReplacedByACopy",
       [](Program& program, Rewriter& rewriter) {
         const OpDesc loop = OpAt(program, 0, 2).desc();
         rewriter.Remove(OpAt(program, 0, 2));
         rewriter.Append(program.block(0), loop);
       }},
      {"Arguments",
       [](Program& program, Rewriter& rewriter) {
         rewriter.SetArgument(*OpAt(program, 0, 0).Input("X"), "w");
         rewriter.SetArgument(*OpAt(program, 0, 0).Input("X"), "a");
         rewriter.SetArgument(*OpAt(program, 1, 1).Output("Out"), "t");
       }},
      {"AddedArguments",
       [](Program& program, Rewriter& rewriter) {
         rewriter.AddInput(OpAt(program, 0, 1), "X", "x");
         rewriter.SetArgument(*OpAt(program, 0, 1).Inputs("X")[2], "w");
         rewriter.AddInput(OpAt(program, 0, 1), "X", "x");
       }},
      {"ANewSlot",
       [](Program& program, Rewriter& rewriter) {
         rewriter.SetArgument(*OpAt(program, 0, 1).Inputs("X")[0], "w");
         rewriter.AddInput(OpAt(program, 0, 1), "Mask", "x");
         rewriter.AddInput(OpAt(program, 0, 1), "X", "x");
       }},
      {"SlotsAndArgumentsTakenAway",
       [](Program& program, Rewriter& rewriter) {
         rewriter.RemoveLastArgument(OpAt(program, 0, 1), /*is_input=*/true, "X");
         rewriter.RemoveOutputs(OpAt(program, 0, 1), "Out");
         rewriter.RemoveInputs(OpAt(program, 1, 0), "X");
       }},
      {"Attributes",
       [](Program& program, Rewriter& rewriter) {
         rewriter.SetAttr(OpAt(program, 0, 0), MakeIntAttr("axis", 2));
         rewriter.SetAttr(OpAt(program, 0, 0), MakeIntAttr("axis", 3));
         rewriter.SetAttr(OpAt(program, 0, 0), MakeFloatAttr("new", 1));
         rewriter.SetAttr(OpAt(program, 0, 0), MakeFloatAttr("new", 2));
       }},
      {"RemovedAttributes",
       [](Program& program, Rewriter& rewriter) {
         rewriter.SetAttr(OpAt(program, 0, 0), MakeFloatAttr("new", 1));
         rewriter.RemoveAttr(OpAt(program, 0, 0), "axis");
         rewriter.SetAttr(OpAt(program, 0, 0), MakeIntAttr("axis", 9));
       }},
      {"AnAttributeThatIsThereTwice",
       [](Program& program, Rewriter& rewriter) {
         rewriter.SetAttr(OpAt(program, 1, 1), MakeFloatAttr("new", 1));
         rewriter.SetAttr(OpAt(program, 1, 1), MakeBoolAttr("is_test", true));
         rewriter.RemoveAttr(OpAt(program, 1, 0), "is_test");
       }},
      {"ChangedAndRemoved",
       [](Program& program, Rewriter& rewriter) {
         const Op& op = OpAt(program, 0, 0);
         rewriter.SetArgument(*op.Input("X"), "w");
         rewriter.SetAttr(op, MakeIntAttr("axis", 2));
         rewriter.Remove(op);
       }},
      {"Variables",
       [](Program& program, Rewriter& rewriter) {
         (void)rewriter.AddVariable(program.block(0), MakeTensorVar("v", VarType::FP32, {1}));
         (void)rewriter.AddVariable(program.block(1), MakeTensorVar("u", VarType::FP32, {1}));
         rewriter.SetVariable(*program.Find(program.block(0), "x"),
                              MakeTensorVar("x", VarType::FP64, {}));
         RemoveVariable(program, rewriter, "unused");
       }},
      {"AVariableReplacedByOneOfItsName",
       [](Program& program, Rewriter& rewriter) {
         RemoveVariable(program, rewriter, "unused");
         (void)rewriter.AddVariable(program.block(0), MakeTensorVar("unused", VarType::INT8, {}));
       }},
      {"AVariableChangedAndRemoved",
       [](Program& program, Rewriter& rewriter) {
         rewriter.SetVariable(*program.Find(program.block(0), "unused"),
                              MakeTensorVar("unused", VarType::FP64, {}));
         RemoveVariable(program, rewriter, "unused");
       }},
      {"AVariableAndItsReaderAreMovedToAnotherBlock",
       [](Program& program, Rewriter& rewriter) {
         const Op& mul = OpAt(program, 1, 0);
         rewriter.SetArgument(*OpAt(program, 1, 1).Input("X"), "w");
         rewriter.Remove(mul);
         rewriter.Remove(*program.Find(program.block(1), "t"));
         (void)rewriter.AddVariable(program.block(0), MakeTensorVar("t", VarType::FP32, {4}));
         rewriter.Prepend(program.block(0), mul.desc());
       }},
      {"ABlockIsAdded", AddLoop},
      {"ABlockIsAddedAndEmptied",
       [](Program& program, Rewriter& rewriter) {
         AddLoop(program, rewriter);
         Empty(program.block(2), rewriter);
       }},
      {"ABlockIsAddedAndRemoved",
       [](Program& program, Rewriter& rewriter) {
         AddLoop(program, rewriter);
         RemoveLoop(program, rewriter);
       }},
      {"ABlockIsRemoved", RemoveLoop},
      {"ABlockIsRemovedAndAnotherAdded",
       [](Program& program, Rewriter& rewriter) {
         RemoveLoop(program, rewriter);
         AddLoop(program, rewriter);
         AddLoop(program, rewriter);
       }},
      {"ABlockIsReplacedAndRemoved",
       [](Program& program, Rewriter& rewriter) {
         RemoveLoop(program, rewriter);
         AddLoop(program, rewriter);
         RemoveLoop(program, rewriter);
       }},
  };
}

EditLog EditLogOf(const Program& program) {
  EditLog log;
  program.MakeEditLog(&log);
  return log;
}

class EditLogTest : public testing::TestWithParam<EditCase> {
 protected:
  EditLogTest() { GetParam().edit(program_, rewriter_); }

  const std::string original_ = ParsedProgram(kText).Proto().SerializeAsString();
  Program program_ = ParsedProgram(kText);
  Rewriter rewriter_{&program_, "test"};
};

TEST_P(EditLogTest, IsRevertedInMemory) {
  program_.RevertEdits();
  EXPECT_EQ(PrintProgram(program_.Proto()), kText);
  EXPECT_EQ(program_.Proto().SerializeAsString(), original_);
  EXPECT_FALSE(program_.edited());
}

TEST_P(EditLogTest, IsRevertedAfterAFlush) {
  program_.Proto();
  program_.RevertEdits();
  EXPECT_EQ(program_.Proto().SerializeAsString(), original_);
}

TEST_P(EditLogTest, IsRevertedFromALogThatWasSavedAndLoaded) {
  program_.MakeEditLog(program_.mutable_edit_log());
  ProgramDesc saved;
  ASSERT_TRUE(saved.ParseFromString(program_.Proto().SerializeAsString()));
  auto loaded = Program::Create(saved);
  ASSERT_TRUE(loaded.ok());
  const EditLog loaded_log = loaded->Proto().edit_log();
  loaded->ClearEditLog();
  ASSERT_TRUE(loaded->AdoptEditLog(loaded_log).ok());
  loaded->RevertEdits();
  EXPECT_EQ(PrintProgram(loaded->Proto()), kText);
  EXPECT_EQ(loaded->Proto().SerializeAsString(), original_);
}

TEST_P(EditLogTest, MakesTheSameLogAgainOnceAdopted) {
  const EditLog log = EditLogOf(program_);
  auto loaded = Program::Create(program_.Proto());
  ASSERT_TRUE(loaded->AdoptEditLog(log).ok());
  EXPECT_EQ(EditLogOf(*loaded).ShortDebugString(), log.ShortDebugString());
}

// What was reverted can be edited again: the index is whole.
TEST_P(EditLogTest, LeavesAProgramThatCanBeEditedAgain) {
  program_.RevertEdits();
  std::string values;
  for (const Op& op : program_.block(0).ops()) {
    for (const Argument* input : op.inputs()) {
      ASSERT_NE(input->variable(), nullptr);
      ASSERT_NE(input->value(), nullptr);
    }
  }
  EXPECT_EQ(program_.block(1).owner(), &OpAt(program_, 0, 2));
  Rewriter again(&program_, "again");
  GetParam().edit(program_, again);
  Program once = ParsedProgram(kText);
  Rewriter rewriter(&once, "again");
  GetParam().edit(once, rewriter);
  EXPECT_EQ(PrintProgram(program_.Proto()), PrintProgram(once.Proto()));
}

INSTANTIATE_TEST_SUITE_P(Edits, EditLogTest, testing::ValuesIn(EditCases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(EditLog, OfNoEditIsEmpty) {
  Program program = ParsedProgram(kText);
  EXPECT_EQ(EditLogOf(program).ShortDebugString(), "");
  Rewriter rewriter(&program, "test");
  rewriter.Remove(rewriter.Prepend(program.block(0), Relu("x", "y")));
  EXPECT_EQ(EditLogOf(program).ShortDebugString(), "");
}

TEST(EditLog, OfABlockThatWasAddedAndRemovedIsEmpty) {
  Program program = ParsedProgram(kText);
  Rewriter rewriter(&program, "test");
  AddLoop(program, rewriter);
  RemoveLoop(program, rewriter);
  EXPECT_EQ(EditLogOf(program).ShortDebugString(), "");
  EXPECT_EQ(PrintProgram(program.Proto()), kText);
}

TEST(EditLog, SaysHowManyBlocksThereWere) {
  Program program = ParsedProgram(kText);
  Rewriter rewriter(&program, "test");
  RemoveLoop(program, rewriter);
  EXPECT_EQ(program.block_count(), 1);
  EXPECT_EQ(program.Proto().blocks_size(), 1);
  const EditLog log = EditLogOf(program);
  EXPECT_EQ(log.block_count(), 2);
  BlockDesc original;
  ASSERT_TRUE(original.ParseFromString(log.blocks(1).original()));
  EXPECT_EQ(original.ShortDebugString(), "idx: 1 parent_idx: 0");
}

TEST(EditLog, KnowsAdoptedEditsFromNewOnes) {
  Program program = ParsedProgram(kText);
  Rewriter rewriter(&program, "test");
  rewriter.SetArgument(*OpAt(program, 0, 1).Inputs("X")[1], "x");
  auto loaded = Program::Create(program.Proto());
  ASSERT_TRUE(loaded->AdoptEditLog(EditLogOf(program)).ok());
  Rewriter again(&*loaded, "again");
  for (const char* name : {"t", "x"}) {
    for (const Argument* argument : OpAt(*loaded, 0, 1).inputs()) {
      again.SetArgument(*argument, name);
    }
  }
  loaded->ForgetEdits();
  again.SetArgument(*OpAt(*loaded, 0, 1).Inputs("X")[1], "w");
  again.SetArgument(*OpAt(*loaded, 0, 1).Inputs("X")[1], "a");
  EXPECT_EQ(EditLogOf(*loaded).ShortDebugString(),
            "blocks { block: 0 ops { index: 1 changed "
            "{ arguments { is_output: false slot: 0 index: 1 name: \"x\" } } } }");
  loaded->RevertEdits();
  EXPECT_EQ(PrintOp(OpAt(*loaded, 0, 1).desc()), "sum(X=[x, x]) -> (Out=b) {axis=1, name=\"s\"}");
}

TEST(EditLog, NamesThePassThatInserted) {
  Program program = ParsedProgram(kText);
  Rewriter(&program, "some_pass").Prepend(program.block(0), Relu("x", "y"));
  EXPECT_EQ(EditLogOf(program).ShortDebugString(),
            R"(blocks { block: 0 ops { index: 0 inserted_by: "some_pass" } })");
}

struct BrokenLog {
  const char* name;
  const char* log;
  const char* message;
};

class BrokenLogTest : public testing::TestWithParam<BrokenLog> {};

TEST_P(BrokenLogTest, IsRejected) {
  EditLog log;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().log, &log));
  Program program = ParsedProgram(kText);
  const absl::Status status = program.AdoptEditLog(log);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()),
            "the edit log does not fit the program: " + std::string(GetParam().message) +
                "; the program was changed after it was rewritten");
  EXPECT_EQ(PrintProgram(program.Proto()), kText) << "the program was left changed";
  EXPECT_FALSE(program.edited());
}

constexpr BrokenLog kBrokenLogs[] = {
    {"NoSuchBlock", "blocks { block: 2 }", "there is no block 2"},
    {"NegativeBlock", "blocks { block: -1 }", "there is no block -1"},
    {"NoSuchOp", "blocks { block: 0 ops { index: 3 inserted_by: 'p' } }", "block 0 has no op 3"},
    {"NegativeOp", "blocks { block: 0 ops { index: -1 inserted_by: 'p' } }",
     "block 0 has no op -1"},
    {"OpsOutOfOrder",
     "blocks { block: 0 ops { index: 1 inserted_by: 'p' } ops { index: 0 inserted_by: 'p' } }",
     "block 0 has no op 0"},
    {"OpEditedTwice",
     "blocks { block: 0 ops { index: 1 inserted_by: 'p' } ops { index: 1 inserted_by: 'p' } }",
     "block 0, op 1 was edited twice"},
    {"OpEditOfNoKind", "blocks { block: 0 ops { index: 1 } }", "block 0, op 1: an edit of no kind"},
    {"RemovedOpIsNoMessage", "blocks { block: 0 ops { index: 0 removed: '\\377' } }",
     "block 0: a removed op cannot be read"},
    {"OriginalOpIsNoMessage", "blocks { block: 0 ops { index: 0 changed { original: '\\377' } } }",
     "block 0, op 0 (relu): the original op cannot be read"},
    {"NoSuchSlot",
     "blocks { block: 0 ops { index: 0 changed { arguments { slot: 1 index: 0 name: 'x' } } } }",
     "block 0, op 0 (relu) has other slots or attributes"},
    {"NoSuchArgument",
     "blocks { block: 0 ops { index: 0 changed { arguments { slot: 0 index: 1 name: 'x' } } } }",
     "block 0, op 0 (relu) has other slots or attributes"},
    {"MoreArgumentsAddedThanThereAre",
     "blocks { block: 0 ops { index: 0 changed { arguments { slot: 0 index: 0 } "
     "arguments { slot: 0 index: 0 } } } }",
     "block 0, op 0 (relu) has other slots or attributes"},
    {"NoSuchAttribute",
     "blocks { block: 0 ops { index: 0 changed { attributes { position: 2 original: '' } } } }",
     "block 0, op 0 (relu) has other slots or attributes"},
    {"MoreAttributesAddedThanThereAre",
     "blocks { block: 0 ops { index: 0 changed { added_attributes: ['a', 'b', 'c', 'd'] } } }",
     "block 0, op 0 (relu) has other slots or attributes"},
    {"AnotherAttributeAdded",
     "blocks { block: 0 ops { index: 0 changed { added_attributes: 'other' } } }",
     "block 0, op 0 (relu) has other slots or attributes"},
    {"AnotherAttributeChanged",
     "blocks { block: 0 ops { index: 0 changed { attributes { position: 0 "
     "original: '\\n\\005other\\020\\000' } } } }",
     "block 0, op 0 (relu): attribute 0 is not other"},
    {"OriginalAttributeNamesABlock",
     "blocks { block: 0 ops { index: 0 changed { attributes { position: 0 "
     "original: '\\n\\004axis\\020\\010\\140\\007' } } } }",
     "block 0, op 0 (relu): attribute axis names a block, or did"},
    {"ChangedAttributeNamesABlock",
     "blocks { block: 0 ops { index: 2 changed { attributes { position: 0 "
     "original: '\\n\\tsub_block\\020\\000' } } } }",
     "block 0, op 2 (while): attribute sub_block names a block, or did"},
    {"AddedAttributeNamesABlock",
     "blocks { block: 0 ops { index: 2 changed { added_attributes: 'sub_block' } } }",
     "block 0, op 2 (while): attribute sub_block names a block, or did"},
    {"OriginalAttributeIsNoMessage",
     "blocks { block: 0 ops { index: 0 changed { attributes { position: 0 original: '\\377' } } } "
     "}",
     "block 0, op 0 (relu): an original attribute cannot be read"},
    {"RemovedOpRunsNoBlock",
     "blocks { block: 0 ops { index: 0 removed: "
     "'\\032\\005while\"\\017\\n\\tsub_block\\020\\010\\140\\143' } }",
     "block 0: a removed op runs a block that is not there"},
    {"OriginalOpRunsOtherBlocks",
     "blocks { block: 0 ops { index: 0 changed { original: "
     "'\\032\\005while\"\\017\\n\\tsub_block\\020\\010\\140\\001' } } }",
     "block 0, op 0 (relu): the original op runs other blocks"},
    {"OriginalVariableHasAnotherName",
     "blocks { block: 0 vars { index: 0 original: '\\n\\005other\\022\\002\\010\\007' } }",
     "block 0: variable 0 is not other"},
    {"NoSuchVariable", "blocks { block: 1 vars { index: 1 inserted_by: 'p' } }",
     "block 1 has no variable 1"},
    {"OriginalVariableIsNoMessage", "blocks { block: 0 vars { index: 0 original: '\\377' } }",
     "block 0: an original variable cannot be read"},
    {"NoBlockWasThere", "block_count: 0", "it had 0 blocks"},
    {"ARemovedBlockIsMissing", "block_count: 3",
     "it had 3 blocks, and does not say what block 2 was"},
    {"ARemovedBlockIsNoMessage", "block_count: 3 blocks { block: 2 original: '\\377' }",
     "it had no such block 2"},
    {"ARemovedBlockIsAnother",
     "block_count: 3 blocks { block: 2 original: '\\010\\001\\020\\000' }",
     "it had no such block 2"},
    {"ARemovedBlockHasNoParent",
     "block_count: 3 blocks { block: 2 original: '\\010\\002\\020\\002' }",
     "it had no such block 2"},
    {"ARemovedBlockIsAfterTheLast", "blocks { block: 2 original: '\\010\\002\\020\\000' }",
     "it had no such block 2"},
    {"AnAddedBlockHasOpsThatWereThere", "block_count: 1",
     "block 0, op 2 (while): block 1 was added, and the op was not"},
    {"AnAddedBlockHasVariablesThatWereThere",
     "block_count: 1 blocks { block: 0 ops { index: 2 inserted_by: 'p' } } "
     "blocks { block: 1 ops { index: 0 inserted_by: 'p' } ops { index: 1 inserted_by: 'p' } }",
     "block 1 was added, and its variables were not"},
    {"AnotherBlockIsRunByAnOpThatWasThere", "blocks { block: 1 original: '\\010\\001\\020\\000' }",
     "block 0, op 2 (while): block 1 was added, and the op was not"},
    {"AnotherBlockHasOpsThatWereThere",
     "blocks { block: 0 ops { index: 2 inserted_by: 'p' } } "
     "blocks { block: 1 original: '\\010\\001\\020\\000' }",
     "block 1 was added, and its ops were not"},
    {"SecondBlockIsBroken",
     "blocks { block: 0 ops { index: 0 inserted_by: 'p' } } blocks { block: 9 }",
     "there is no block 9"},
};

INSTANTIATE_TEST_SUITE_P(Logs, BrokenLogTest, testing::ValuesIn(kBrokenLogs),
                         [](const auto& info) { return std::string(info.param.name); });

// Each block is run by an op of the one before; that of the last block was removed.
TEST(EditLog, NestsNoBlockDeeperThanAProgramMay) {
  ProgramDesc desc;
  for (int b = 0; b <= 257; ++b) {
    BlockDesc& block = *desc.add_blocks();
    block.set_idx(b);
    block.set_parent_idx(b == 0 ? -1 : 0);
    if (b >= 256) continue;
    OpDesc& op = *block.add_ops();
    op.set_type("while");
    *op.add_attrs() = MakeBlockAttr("sub_block", b + 1);
  }
  OpDesc removed;
  removed.set_type("while");
  *removed.add_attrs() = MakeBlockAttr("sub_block", 257);
  EditLog log;
  EditLog::BlockEdits& edits = *log.add_blocks();
  edits.set_block(256);
  EditLog::OpEdit& edit = *edits.add_ops();
  edit.set_index(0);
  edit.set_removed(removed.SerializeAsString());
  absl::StatusOr<Program> program = Program::Create(desc);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(std::string(program->AdoptEditLog(log).message()),
            "the edit log does not fit the program: with its removed ops, block 257 is nested "
            "deeper than 256 blocks; the program was changed after it was rewritten");
  EXPECT_FALSE(program->edited());
}

// What is in the place of a removed block's parent may be nested as deep as a block may be.
TEST(EditLog, ForgetsHowDeepARemovedBlockWas) {
  constexpr int kDeepest = 256;
  ProgramDesc desc;
  for (int b = 0; b <= kDeepest + 1; ++b) {
    BlockDesc& block = *desc.add_blocks();
    block.set_idx(b);
    block.set_parent_idx(b == kDeepest ? 0 : b - 1);
  }
  Program program = *Program::Create(desc);
  Rewriter rewriter(&program, "p");
  rewriter.RemoveLastBlock();
  rewriter.RemoveLastBlock();
  rewriter.AddBlock(program.block(kDeepest - 1));
  EXPECT_FALSE(rewriter.CanAddBlock(program.block(kDeepest)));
  program.RevertEdits();
  EXPECT_EQ(program.Proto().SerializeAsString(), desc.SerializeAsString());
}

}  // namespace
}  // namespace fixpoint
