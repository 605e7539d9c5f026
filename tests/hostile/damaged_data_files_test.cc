// Arrays and data sets cut off at every byte, and with each bit turned: the reader answers with a
// result, or with an error of the input that names the file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/data/cifar10.h"
#include "runtime/data/idx.h"
#include "runtime/npy.h"
#include "runtime/npz.h"
#include "tests/testing/damaged_bytes.h"
#include "tests/testing/gzip_bytes.h"
#include "tests/testing/hex_bytes.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::StartsWith;

constexpr size_t kAll = std::string::npos;

// A file of which every part is needed, and what reads it at a path.
struct Case {
  const char* name;
  std::string bytes;
  size_t telling;  // Bytes at the front whose bits are turned.
  std::function<absl::Status(const std::string& path)> read;
};

std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

absl::Status ReadArchive(const std::string& path) { return LoadNpz(path).status(); }

// Two images of a row and two columns; their labels.
const char kImages[] = "00000803 00000002 00000001 00000002 00010203";
const char kLabels[] = "00000801 00000002 0709";

std::vector<Case> Cases(const TemporaryFolder& folder) {
  const std::string header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }\n";
  const std::string images = folder.Write("images", HexBytes(kImages));
  const std::string labels = folder.Write("labels", HexBytes(kLabels));
  const auto read_images = [labels](const std::string& path) {
    return LoadIdx(path, labels).status();
  };
  const auto read_labels = [images](const std::string& path) {
    return LoadIdx(images, path).status();
  };
  return {
      {"npy",
       absl::StrCat("\x93NUMPY", HexBytes("0100"), std::string(1, static_cast<char>(header.size())),
                    std::string(1, '\0'), header, HexBytes("0000803f 000000c0")),
       kAll, [](const std::string& path) { return LoadNpy(path).status(); }},
      {"stored npz", FileBytes("tests/runtime/numpy/stored.npz"), kAll, ReadArchive},
      {"deflated npz", FileBytes("tests/runtime/numpy/deflated.npz"), kAll, ReadArchive},
      {"idx images", HexBytes(kImages), kAll, read_images},
      {"idx labels", HexBytes(kLabels), kAll, read_labels},
      {"gzipped idx images", GzipBytes(HexBytes(kImages)), kAll, read_images},
      // A pixel may have any value, so no bit of it can be wrong.
      {"cifar10", std::string(1, '\7') + std::string(3072, '\x55'), 1,
       [](const std::string& path) { return LoadCifar10({path}).status(); }},
  };
}

void ExpectInputError(const absl::Status& status, const std::string& path) {
  EXPECT_THAT(status.code(),
              AnyOf(Eq(absl::StatusCode::kDataLoss), Eq(absl::StatusCode::kInvalidArgument),
                    Eq(absl::StatusCode::kUnimplemented)))
      << status;
  EXPECT_THAT(std::string(status.message()), StartsWith(absl::StrCat(path, ": ")));
}

TEST(DamagedDataFile, CutOffIsAnError) {
  const TemporaryFolder folder;
  for (const Case& c : Cases(folder)) {
    SCOPED_TRACE(c.name);
    ASSERT_EQ(c.read(folder.Write("file", c.bytes)), absl::OkStatus());
    for (const std::string& bytes : Damaged(c.bytes, Damage::kCutOff)) {
      const std::string path = folder.Write("file", bytes);
      ExpectInputError(c.read(path), path);
    }
  }
}

TEST(DamagedDataFile, WithABitTurnedIsReadOrAnError) {
  const TemporaryFolder folder;
  for (const Case& c : Cases(folder)) {
    SCOPED_TRACE(c.name);
    const std::string rest = c.bytes.substr(std::min(c.telling, c.bytes.size()));
    for (const std::string& front : Damaged(c.bytes.substr(0, c.telling), Damage::kBitTurned)) {
      const std::string path = folder.Write("file", front + rest);
      const absl::Status status = c.read(path);
      if (!status.ok()) ExpectInputError(status, path);
    }
  }
}

}  // namespace
}  // namespace fixpoint
