#include "runtime/byte_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

// Gives the same bytes to a test as bytes in memory, as a file, and through a pipe.
class ByteReaderTest : public testing::TestWithParam<std::string> {
 protected:
  ~ByteReaderTest() override {
    if (writer_.joinable()) writer_.join();
  }

  ByteReader ReaderOf(const std::string& bytes) {
    if (GetParam() == "memory") {
      bytes_ = bytes;
      return ByteReader::Over(bytes_);
    }
    std::string path;
    if (GetParam() == "file") {
      path = folder_.Write("file", bytes);
    } else {
      path = folder_.Path("pipe");
      EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
      writer_ = std::thread([path, bytes] { std::ofstream(path, std::ios::binary) << bytes; });
    }
    absl::StatusOr<ByteReader> reader = ByteReader::Open(path);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

 private:
  TemporaryFolder folder_;
  std::string bytes_;
  std::thread writer_;
};

INSTANTIATE_TEST_SUITE_P(From, ByteReaderTest, testing::Values("memory", "file", "pipe"),
                         [](const auto& info) { return info.param; });

TEST_P(ByteReaderTest, ReadsNumbersLittleEndianUpToTheEnd) {
  ByteReader reader = ReaderOf(std::string("\1\2\3\4\5\0\0\0\0\0\0\x80\6\7", 14));
  EXPECT_EQ(*reader.ReadU32("a number"), 0x04030201u);
  EXPECT_FALSE(*reader.AtEnd());
  EXPECT_EQ(reader.position(), 4u);
  EXPECT_EQ(*reader.ReadU64("a number"), 0x8000000000000005u);
  EXPECT_EQ(*reader.ReadU16("a number"), 0x0706u);
  EXPECT_TRUE(*reader.AtEnd());
  EXPECT_EQ(reader.position(), 14u);
}

TEST_P(ByteReaderTest, SaysHowMuchIsMissing) {
  ByteReader reader = ReaderOf("abcdefg");
  EXPECT_EQ(*reader.ReadU32("a number"), 0x64636261u);
  EXPECT_EQ(reader.ReadU32("the size").status(),
            absl::DataLossError("byte 4: the size needs 4 bytes, 3 are left"));
}

TEST_P(ByteReaderTest, ExpectLooksAheadAndReadsNothing) {
  ByteReader reader = ReaderOf("abcd");
  EXPECT_EQ(reader.Expect("the data", 4), absl::OkStatus());
  EXPECT_EQ(reader.Expect("the data", uint64_t{1} << 60),
            absl::DataLossError("byte 0: the data needs 1152921504606846976 bytes, 4 are left"));
  EXPECT_EQ(reader.position(), 0u);
  EXPECT_EQ(*reader.ReadU32("a number"), 0x64636261u);
}

TEST_P(ByteReaderTest, AnEmptyFileIsAtItsEnd) {
  ByteReader reader = ReaderOf("");
  EXPECT_TRUE(*reader.AtEnd());
  EXPECT_EQ(reader.Read("nothing", {}), absl::OkStatus());
}

TEST_P(ByteReaderTest, ReadsMoreThanOneStepOfReadingAhead) {
  std::string bytes;
  for (int i = 0; i < 3'000'000; ++i) bytes.push_back(static_cast<char>(i % 251));
  ByteReader reader = ReaderOf(bytes);
  std::vector<uint8_t> read(bytes.size());
  EXPECT_EQ(reader.Read("the data", absl::MakeSpan(read)), absl::OkStatus());
  EXPECT_TRUE(std::string(read.begin(), read.end()) == bytes);
  EXPECT_TRUE(*reader.AtEnd());
}

TEST(ByteReaderOpen, SaysWhyAFileCannotBeRead) {
  const TemporaryFolder folder;
  const std::string missing = folder.Path("missing");
  EXPECT_EQ(ByteReader::Open(missing).status(),
            absl::NotFoundError(absl::StrCat(
                missing, ": cannot be opened for reading: No such file or directory")));
  const std::string below = absl::StrCat(folder.Write("file", ""), "/below");
  EXPECT_EQ(ByteReader::Open(below).status(),
            absl::InvalidArgumentError(
                absl::StrCat(below, ": cannot be opened for reading: Not a directory")));
  EXPECT_EQ(ByteReader::Open(folder.Path()).status(),
            absl::InvalidArgumentError(absl::StrCat(folder.Path(), ": is a folder, not a file")));
}

}  // namespace
}  // namespace fixpoint
