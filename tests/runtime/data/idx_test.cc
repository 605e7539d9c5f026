// Files of MNIST's format, byte for byte, and errors for other files.

#include "runtime/data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/tensor.h"
#include "tests/testing/gzip_bytes.h"
#include "tests/testing/hex_bytes.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

// Two images of 2 rows and 3 columns, and their labels.
const char kImages[] = "00000803 00000002 00000002 00000003 000102 030405 fafbfc fdfeff";
const char kLabels[] = "00000801 00000002 0709";

TEST(Idx, ImagesAndLabelsAreReadPlainAndGzipped) {
  const TemporaryFolder folder;
  const std::string images = HexBytes(kImages);
  const std::string labels = HexBytes(kLabels);
  folder.Write("images", images);
  folder.Write("labels", labels);
  folder.Write("images.gz", GzipBytes(images));
  folder.Write("labels.gz", GzipBytes(labels));
  for (const char* extension : {"", ".gz"}) {
    const absl::StatusOr<ImageSet> set = LoadIdx(folder.Path(absl::StrCat("images", extension)),
                                                 folder.Path(absl::StrCat("labels", extension)));
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_THAT(set->images.dims(), ElementsAre(2, 1, 2, 3));
    EXPECT_THAT(set->images.data<uint8_t>(),
                ElementsAre(0, 1, 2, 3, 4, 5, 250, 251, 252, 253, 254, 255));
    EXPECT_THAT(set->labels.dims(), ElementsAre(2));
    EXPECT_THAT(set->labels.data<int64_t>(), ElementsAre(7, 9));
  }
}

TEST(Idx, ASetMayBeEmpty) {
  const TemporaryFolder folder;
  const absl::StatusOr<ImageSet> set =
      LoadIdx(folder.Write("images", HexBytes("00000803 00000000 0000001c 0000001c")),
              folder.Write("labels", HexBytes("00000801 00000000")));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->images.dims(), ElementsAre(0, 1, 28, 28));
}

struct BadFile {
  std::string hex;
  absl::StatusCode code;
  const char* message;  // After the name of the file.
};

TEST(Idx, SaysWhatIsWrongWithImages) {
  const absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;
  const absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
  const BadFile cases[] = {
      {"", kDataLoss, "byte 0: the magic number needs 4 bytes, 0 are left"},
      {"89504e47", kInvalid,
       "byte 0: this is not an idx file; expected 0 0 8 3 as the first bytes of the images"},
      {"00000d03", absl::StatusCode::kUnimplemented,
       "byte 2: the type of the elements is 13; expected 8, a byte"},
      {kLabels, kInvalid, "byte 3: there are 1 extents; the images have 3"},
      {"00000803 00000002 0000", kDataLoss, "byte 8: an extent needs 4 bytes, 2 are left"},
      {"00000803 ffffffff ffffffff ffffffff", kInvalid,
       "byte 4: dims [4294967295, 4294967295, 4294967295]: the number of elements exceeds 2^63 - "
       "1"},
      {"00000803 7fffffff 00000001 ffffffff 00", kDataLoss,
       "byte 16: the data needs 9223372030412324865 bytes, 1 are left"},
      {absl::StrCat(kImages, "00"), kInvalid,
       "byte 28: bytes follow the images [2, 2, 3]; expected the end"},
  };
  const TemporaryFolder folder;
  const std::string labels = folder.Write("labels", HexBytes(kLabels));
  for (const BadFile& c : cases) {
    const std::string images = folder.Write("images", HexBytes(c.hex));
    EXPECT_EQ(LoadIdx(images, labels).status(),
              absl::Status(c.code, absl::StrCat(images, ": ", c.message)));
  }
}

TEST(Idx, SaysWhatIsWrongWithLabels) {
  const TemporaryFolder folder;
  const std::string images = folder.Write("images", HexBytes(kImages));
  EXPECT_EQ(
      LoadIdx(images, images).status(),
      absl::InvalidArgumentError(absl::StrCat(
          images, ": byte 3: there are 3 extents; the labels have 1; are these the images?")));
  const std::string labels = folder.Write("labels", HexBytes("00000801 00000003 070901"));
  EXPECT_EQ(LoadIdx(images, labels).status(),
            absl::InvalidArgumentError(absl::StrCat(
                labels, ": there are 3 labels; expected 2, one for each image of ", images)));
  EXPECT_EQ(LoadIdx(images, folder.Path("none")).status().code(), absl::StatusCode::kNotFound);
}

// 5000 black images of 64 x 64.
TEST(Idx, AGzipStreamExpandsInProportionToTheFile) {
  const TemporaryFolder folder;
  const std::string images =
      folder.Write("images.gz", GzipBytes(HexBytes("00000803 00001388 00000040 00000040") +
                                          std::string(size_t{5000} * 64 * 64, '\0')));
  const std::string labels = folder.Write("labels", HexBytes(kLabels));
  EXPECT_EQ(LoadIdx(images, labels).status(),
            absl::InvalidArgumentError(
                absl::StrCat(images, ": expands to too much; expected at most 16777216 bytes")));
}

TEST(Idx, AGzipStreamThatIsCutIsDataLoss) {
  const TemporaryFolder folder;
  const std::string images = folder.Write("images", HexBytes(kImages));
  const std::string gzipped = GzipBytes(HexBytes(kLabels));
  const std::string labels = folder.Write("labels", gzipped.substr(0, gzipped.size() - 1));
  EXPECT_EQ(LoadIdx(images, labels).status(),
            absl::DataLossError(
                absl::StrCat(labels, ": the gzip stream ends early; the file is truncated")));
}

}  // namespace
}  // namespace fixpoint
