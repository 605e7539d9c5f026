#include "proto/file/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

TEST(ReadInputFile, GivesTheBytesOfAFile) {
  const TemporaryFolder folder;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 20}) {
    const std::string bytes(size, '\xff');
    const absl::StatusOr<std::string> read = ReadInputFile(folder.Write("f", bytes), size);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == bytes);
  }
}

TEST(ReadInputFile, ReadsAPipeToItsEnd) {
  const TemporaryFolder folder;
  const std::string pipe = folder.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string bytes(300000, 'x');
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
  const absl::StatusOr<std::string> read = ReadInputFile(pipe, bytes.size());
  writer.join();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(*read == bytes);
}

TEST(ReadInputFile, SaysWhatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(ReadInputFile("no/such/file", 10).status(),
            absl::NotFoundError("no/such/file: cannot be read: No such file or directory"));
  EXPECT_EQ(
      ReadInputFile(folder.Path(), 10).status(),
      absl::InvalidArgumentError(absl::StrCat(folder.Path(), ": cannot be read: Is a directory")));
}

TEST(ReadInputFile, RefusesMoreThanAllowed) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("f", "12345");
  EXPECT_EQ(
      ReadInputFile(path, 4).status(),
      absl::InvalidArgumentError(absl::StrCat(path, ": is too large; expected at most 4 bytes")));
  // A device has no size beforehand.
  EXPECT_EQ(ReadInputFile("/dev/zero", 1000000).status(),
            absl::InvalidArgumentError("/dev/zero: is too large; expected at most 1000000 bytes"));
}

TEST(ReadInputFile, ReadsStandardInput) {
  const TemporaryFolder folder;
  ASSERT_NE(freopen(folder.Write("f", "from standard input").c_str(), "rb", stdin), nullptr);
  const absl::StatusOr<std::string> read = ReadInputFile("-", 100);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, "from standard input");
  EXPECT_EQ(InputName("-"), "standard input");
}

}  // namespace
}  // namespace fixpoint
