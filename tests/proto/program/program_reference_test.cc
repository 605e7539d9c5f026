// The index over every reference program: values, edits and their undoing.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

class ReferencePrograms : public testing::Test {
 protected:
  // Calls `check` with each reference program and the bytes that it was read from.
  template <typename Check>
  void ForEach(Check check) {
    SKIP_WITHOUT_REFERENCE_DATA();
    for (const std::string& path : ::fixpoint::ReferencePrograms()) {
      if (absl::StrContains(path, "NOT_PARSEABLE")) continue;
      SCOPED_TRACE(path);
      const std::string bytes = ReadFileOrDie(path);
      ProgramDesc desc;
      ASSERT_TRUE(desc.ParseFromString(bytes));
      auto program = Program::Create(std::move(desc), path);
      ASSERT_TRUE(program.ok()) << program.status();
      check(*program, bytes);
    }
  }
};

TEST_F(ReferencePrograms, EveryArgumentHasAValueAndEveryValueKnowsItsReaders) {
  ForEach([](const Program& program, const std::string&) {
    for (const Op& op : program.ops()) {
      for (const Argument* input : op.inputs()) {
        if (input->variable() == nullptr) continue;
        ASSERT_NE(input->value(), nullptr) << Describe(op);
        const auto readers = input->value()->readers();
        ASSERT_NE(std::find(readers.begin(), readers.end(), input), readers.end()) << Describe(op);
      }
      for (const Argument* output : op.outputs()) {
        if (output->variable() == nullptr) continue;
        ASSERT_NE(output->value(), nullptr) << Describe(op);
        ASSERT_EQ(output->value()->written_by(), output) << Describe(op);
      }
    }
  });
}

// One edit of each kind at every op.
void EditEverywhere(Program& program) {
  Rewriter rewriter(&program, "edit_everywhere");
  for (int b = 0; b < program.block_count(); ++b) {
    int step = 0;
    for (const Op& op : program.block(b).ops()) {
      if (op.inserted()) continue;
      if (!op.inputs().empty() && op.inputs()[0]->variable() != nullptr) {
        VarDesc copy;
        copy.set_name(rewriter.FreshName(absl::StrCat(op.inputs()[0]->name(), ".copy")));
        copy.mutable_type()->set_type(VarType::LOD_TENSOR);
        const std::string name = copy.name();
        ASSERT_TRUE(rewriter.AddVariable(program.block(b), std::move(copy)).ok());
        OpDesc assign;
        assign.set_type("assign");
        OpDesc::Var& in = *assign.add_inputs();
        in.set_parameter("X");
        in.add_arguments(std::string(op.inputs()[0]->name()));
        OpDesc::Var& out = *assign.add_outputs();
        out.set_parameter("Out");
        out.add_arguments(name);
        rewriter.InsertBefore(op, std::move(assign));
        rewriter.SetArgument(*op.inputs()[0], name);
        ASSERT_EQ(op.inputs()[0]->value()->op()->type(), "assign");
      }
      switch (step++ % 5) {
        case 0:
          rewriter.SetAttr(op, MakeIntAttr("op_role", 77));
          break;
        case 1:
          rewriter.SetAttr(op, MakeStringAttr("added", "here"));
          break;
        case 2:
          rewriter.AddInput(op, "Extra", "nobody_declares_this");
          break;
        case 3:
          rewriter.RemoveAttr(op, "op_role");
          break;
        case 4:
          rewriter.Remove(op);
          break;
      }
    }
  }
}

TEST_F(ReferencePrograms, RevertedEditsLeaveTheBytesAsTheyWere) {
  ForEach([](Program& program, const std::string& bytes) {
    EditEverywhere(program);
    EXPECT_FALSE(program.Proto().SerializeAsString() == bytes);
    program.RevertEdits();
    EXPECT_TRUE(program.Proto().SerializeAsString() == bytes);
    EXPECT_FALSE(program.edited());
  });
}

TEST_F(ReferencePrograms, TheEditLogRevertsAProgramThatWasSavedInBetween) {
  ForEach([](Program& program, const std::string& bytes) {
    EditEverywhere(program);
    EditLog log;
    program.MakeEditLog(&log);
    auto loaded = Program::Create(program.Proto(), program.name());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const absl::Status adopted = loaded->AdoptEditLog(log);
    ASSERT_TRUE(adopted.ok()) << adopted;
    EditLog again;
    loaded->MakeEditLog(&again);
    EXPECT_EQ(again.SerializeAsString(), log.SerializeAsString());
    loaded->RevertEdits();
    EXPECT_TRUE(loaded->Proto().SerializeAsString() == bytes);
  });
}

}  // namespace
}  // namespace fixpoint
