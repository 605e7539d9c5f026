#include "proto/file/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AtomicFile, HoldsWhatWasAppended) {
  const TemporaryFolder folder;
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(folder.Path("out"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Append("one "), absl::OkStatus());
  EXPECT_EQ(file->Append(""), absl::OkStatus());
  EXPECT_EQ(file->Append("two"), absl::OkStatus());
  EXPECT_EQ(file->Commit(), absl::OkStatus());
  EXPECT_THAT(folder.Files(), ElementsAre("out"));
  EXPECT_EQ(folder.Read("out"), "one two");
}

TEST(AtomicFile, LeavesTheOldFileUntilCommit) {
  const TemporaryFolder folder;
  folder.Write("out", "old");
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(folder.Path("out"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Append("new"), absl::OkStatus());
  EXPECT_EQ(folder.Read("out"), "old");
  EXPECT_EQ(file->Commit(), absl::OkStatus());
  EXPECT_EQ(folder.Read("out"), "new");
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(folder.Path("out"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->Append("new"), absl::OkStatus());
    EXPECT_EQ(folder.Files().size(), 1u);  // The temporary one.
  }
  EXPECT_THAT(folder.Files(), IsEmpty());
}

TEST(AtomicFile, TwoWritersOfOneFileDoNotMix) {
  const TemporaryFolder folder;
  absl::StatusOr<AtomicFile> first = AtomicFile::Create(folder.Path("out"));
  absl::StatusOr<AtomicFile> second = AtomicFile::Create(folder.Path("out"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->Append("first"), absl::OkStatus());
  EXPECT_EQ(second->Append("second"), absl::OkStatus());
  EXPECT_EQ(second->Commit(), absl::OkStatus());
  EXPECT_EQ(folder.Read("out"), "second");
  EXPECT_EQ(first->Commit(), absl::OkStatus());
  EXPECT_EQ(folder.Read("out"), "first");
}

TEST(AtomicFile, KeepsThePermissionsOfTheFileItReplaces) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("out", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(WriteFileAtomically(path, "new"), absl::OkStatus());
  struct stat attributes;
  ASSERT_EQ(stat(path.c_str(), &attributes), 0);
  EXPECT_EQ(attributes.st_mode & 07777, 0640u);
}

TEST(AtomicFile, ReplacesWhatALinkPointsTo) {
  const TemporaryFolder folder;
  folder.Write("versions/1", "old");
  std::filesystem::create_symlink("versions/1", folder.Path("current"));
  ASSERT_EQ(WriteFileAtomically(folder.Path("current"), "new"), absl::OkStatus());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path("current")));
  EXPECT_EQ(folder.Read("versions/1"), "new");
  EXPECT_THAT(folder.Files(), ElementsAre("current", "versions/1"));
}

TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("out", "old");
  // A limit on the size of files fails a write as a full disk does.
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit limit = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status status = WriteFileAtomically(path, std::string(10000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  EXPECT_EQ(status,
            absl::UnavailableError(absl::StrCat(path, ": cannot be written: File too large")));
  EXPECT_EQ(folder.Read("out"), "old");
  EXPECT_THAT(folder.Files(), ElementsAre("out"));
}

TEST(AtomicFile, SaysWhyAPathCannotBeWritten) {
  const TemporaryFolder folder;
  folder.Write("file", "");
  std::filesystem::create_symlink("nowhere", folder.Path("link"));
  const std::pair<std::string, std::string> cases[] = {
      {folder.Path("missing/out"), "No such file or directory"},
      {folder.Path("file/out"), "Not a directory"},
      {folder.Path(), "it is there and is not a regular file"},
      {"/dev/null", "it is there and is not a regular file"},
      {folder.Path("link"), "it is a symbolic link that leads nowhere"},
      {"", "No such file or directory"},
  };
  for (const auto& [path, reason] : cases) {
    EXPECT_EQ(WriteFileAtomically(path, "bytes"),
              absl::UnavailableError(absl::StrCat(path, ": cannot be written: ", reason)));
  }
  EXPECT_THAT(folder.Files(), ElementsAre("file", "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path("link")));
}

}  // namespace
}  // namespace fixpoint
