#include "runtime/staged_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

absl::Status WriteFile(StagedDirectory& staged, const std::string& name, absl::string_view bytes) {
  ASSIGN_OR_RETURN(AtomicFile file, staged.CreateFile(name));
  RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

TEST(StagedDirectory, ANewFolderAppearsWhole) {
  const TemporaryFolder folder;
  absl::StatusOr<StagedDirectory> staged = StagedDirectory::Create(folder.Path("out/"));
  ASSERT_TRUE(staged.ok()) << staged.status();
  ASSERT_EQ(WriteFile(*staged, "a", "1"), absl::OkStatus());
  ASSERT_EQ(WriteFile(*staged, "sub/b", "2"), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(folder.Path("out")));
  ASSERT_EQ(staged->Commit(), absl::OkStatus());
  EXPECT_THAT(folder.Files(), ElementsAre("out/a", "out/sub/b"));
  EXPECT_EQ(folder.Read("out/sub/b"), "2");
}

TEST(StagedDirectory, AFolderThatIsThereKeepsItsOtherFiles) {
  const TemporaryFolder folder;
  folder.Write("out/__model__", "program");
  folder.Write("out/a", "old");
  {
    absl::StatusOr<StagedDirectory> staged = StagedDirectory::Create(folder.Path("out"));
    ASSERT_TRUE(staged.ok()) << staged.status();
    ASSERT_EQ(WriteFile(*staged, "a", "new"), absl::OkStatus());
    ASSERT_EQ(WriteFile(*staged, "sub/b", "2"), absl::OkStatus());
    EXPECT_EQ(folder.Read("out/a"), "old");
    ASSERT_EQ(staged->Commit(), absl::OkStatus());
  }
  EXPECT_THAT(folder.Files(), ElementsAre("out/__model__", "out/a", "out/sub/b"));
  EXPECT_EQ(folder.Read("out/__model__"), "program");
  EXPECT_EQ(folder.Read("out/a"), "new");
  // The staging folder is gone too.
  std::vector<std::string> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder.Path("out"))) {
    entries.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(entries, UnorderedElementsAre("__model__", "a", "sub"));
}

TEST(StagedDirectory, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    absl::StatusOr<StagedDirectory> staged = StagedDirectory::Create(folder.Path("out"));
    ASSERT_TRUE(staged.ok()) << staged.status();
    ASSERT_EQ(WriteFile(*staged, "a", "1"), absl::OkStatus());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path()));
}

TEST(StagedDirectory, WhatIsInTheWayIsFoundBeforeTheFirstRename) {
  const TemporaryFolder folder;
  folder.Write("out/a", "old");
  folder.Write("out/b/c", "in the way");
  {
    absl::StatusOr<StagedDirectory> staged = StagedDirectory::Create(folder.Path("out"));
    ASSERT_TRUE(staged.ok()) << staged.status();
    ASSERT_EQ(WriteFile(*staged, "a", "new"), absl::OkStatus());
    ASSERT_EQ(WriteFile(*staged, "b", "new"), absl::OkStatus());
    EXPECT_EQ(staged->Commit(), absl::UnavailableError(absl::StrCat(
                                    folder.Path("out/b"), ": cannot be written: Is a directory")));
  }
  EXPECT_EQ(folder.Read("out/a"), "old");
  EXPECT_THAT(folder.Files(), ElementsAre("out/a", "out/b/c"));
}

TEST(StagedDirectory, WhatWouldBeInTheWayIsKnownBeforeAFileIsMade) {
  const TemporaryFolder folder;
  folder.Write("out/a", "a file");
  folder.Write("out/b/c", "in the way");
  const auto check = [&](const std::string& name) {
    return StagedDirectory::CheckFile(folder.Path("out"), name);
  };
  EXPECT_EQ(check("a"), absl::OkStatus());
  EXPECT_EQ(check("b/d"), absl::OkStatus());
  EXPECT_EQ(check("new/sub/d"), absl::OkStatus());
  EXPECT_EQ(StagedDirectory::CheckFile(folder.Path("none"), "a"), absl::OkStatus());
  EXPECT_EQ(check("b"), absl::UnavailableError(absl::StrCat(
                            folder.Path("out/b"), ": cannot be written: Is a directory")));
  EXPECT_EQ(check("a/sub/d"),
            absl::UnavailableError(
                absl::StrCat(folder.Path("out/a/sub/d"), ": cannot be written: Not a directory")));
  EXPECT_THAT(folder.Files(), ElementsAre("out/a", "out/b/c"));
}

TEST(StagedDirectory, SaysWhyAFolderCannotBeWritten) {
  const TemporaryFolder folder;
  folder.Write("file", "");
  EXPECT_EQ(StagedDirectory::Create(folder.Path("missing/out")).status(),
            absl::UnavailableError(absl::StrCat(folder.Path("missing/out"),
                                                ": cannot be written: No such file or directory")));
  EXPECT_EQ(StagedDirectory::Create(folder.Path("file")).status(),
            absl::UnavailableError(
                absl::StrCat(folder.Path("file"), ": cannot be written: Not a directory")));
  EXPECT_THAT(folder.Files(), ElementsAre("file"));
}

}  // namespace
}  // namespace fixpoint
