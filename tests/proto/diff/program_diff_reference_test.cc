// The diff of every reference program and copies of it with known changes.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/diff/program_diff.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

// Renames every temporary of a reference program that ops write, and no other.
ProgramDesc WithRenamedTemporaries(const Program& program) {
  ProgramDesc desc = program.Proto();
  const auto is_temporary = [&program](const Block& block, const std::string& name) {
    const Variable* variable = program.Find(block, name);
    if (variable == nullptr || variable->persistable()) return false;
    bool written = false;
    for (const Argument* argument : variable->arguments()) {
      if (argument->is_output() && argument->op().type() == "feed") return false;
      written = written || argument->is_output();
    }
    return written;
  };
  for (BlockDesc& block_desc : *desc.mutable_blocks()) {
    const Block& block = program.block(block_desc.idx());
    const auto rename = [&](std::string* name) {
      if (is_temporary(block, *name)) *name = absl::StrCat("renamed/", *name);
    };
    for (VarDesc& var : *block_desc.mutable_vars()) rename(var.mutable_name());
    for (OpDesc& op : *block_desc.mutable_ops()) {
      for (OpDesc::Var& slot : *op.mutable_inputs()) {
        for (std::string& name : *slot.mutable_arguments()) rename(&name);
      }
      for (OpDesc::Var& slot : *op.mutable_outputs()) {
        for (std::string& name : *slot.mutable_arguments()) rename(&name);
      }
    }
  }
  return desc;
}

TEST(ProgramDiffOfReferencePrograms, RenamedOnesAreAlikeAndOneChangedAttributeIsFound) {
  SKIP_WITHOUT_REFERENCE_DATA();
  DiffOptions ignore_names;
  ignore_names.ignore_temporary_names = true;
  DiffOptions strict;
  strict.strict = true;
  for (const std::string& path : ReferencePrograms()) {
    if (absl::StrContains(path, "NOT_PARSEABLE")) continue;
    SCOPED_TRACE(path);
    ProgramDesc desc;
    ASSERT_TRUE(desc.ParseFromString(ReadFileOrDie(path)));
    const auto program = Program::Create(std::move(desc), path);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(PrintDiff(DiffPrograms(*program, *program, strict)), "");

    ProgramDesc renamed = WithRenamedTemporaries(*program);
    const auto alike = Program::Create(renamed, path);
    ASSERT_TRUE(alike.ok()) << alike.status();
    ASSERT_EQ(PrintDiff(DiffPrograms(*program, *alike, ignore_names)), "");

    BlockDesc& block = *renamed.mutable_blocks(0);
    OpDesc& op = *block.mutable_ops(block.ops_size() / 2);
    *op.add_attrs() = MakeStringAttr("a_new_attribute", "here");
    const auto changed = Program::Create(renamed, path);
    ASSERT_TRUE(changed.ok()) << changed.status();
    const ProgramDiff diff = DiffPrograms(*program, *changed, ignore_names);
    ASSERT_EQ(diff.differences.size(), 1) << PrintDiff(diff);
    ASSERT_EQ(diff.differences[0].parts.size(), 1) << PrintDiff(diff);
    EXPECT_EQ(diff.differences[0].parts[0].what, "attribute a_new_attribute");
    EXPECT_EQ(diff.differences[0].index_b, block.ops_size() / 2);
  }
}

}  // namespace
}  // namespace fixpoint
