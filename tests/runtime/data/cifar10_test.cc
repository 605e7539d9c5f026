// Batches of CIFAR-10, record by record, and errors for other files.

#include "runtime/data/cifar10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/tensor.h"
#include "tests/testing/gzip_bytes.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

constexpr size_t kPlane = 32 * 32;

// A record of three planes of one color each.
std::string Record(char label, char red, char green, char blue) {
  return absl::StrCat(std::string(1, label), std::string(kPlane, red), std::string(kPlane, green),
                      std::string(kPlane, blue));
}

TEST(Cifar10, BatchesAreReadOneAfterAnother) {
  const TemporaryFolder folder;
  const std::string one = folder.Write("one.bin", Record(3, 1, 2, '\xff') + Record(9, 4, 5, 6));
  const std::string two = folder.Write("two.bin.gz", GzipBytes(Record(0, 7, 8, 9)));
  const absl::StatusOr<ImageSet> set = LoadCifar10({one, two});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->labels.dims(), ElementsAre(3));
  EXPECT_THAT(set->labels.data<int64_t>(), ElementsAre(3, 9, 0));
  EXPECT_THAT(set->images.dims(), ElementsAre(3, 3, 32, 32));
  const auto pixels = set->images.data<uint8_t>();
  const uint8_t planes[] = {1, 2, 255, 4, 5, 6, 7, 8, 9};
  for (size_t i = 0; i < pixels.size(); ++i) ASSERT_EQ(pixels[i], planes[i / kPlane]) << i;
}

TEST(Cifar10, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string good = Record(0, 1, 2, 3);
  const auto status = [&](const std::string& bytes) {
    return LoadCifar10({folder.Write("good.bin", good), folder.Write("bad.bin", bytes)}).status();
  };
  const std::string bad = folder.Path("bad.bin");
  EXPECT_EQ(status(""), absl::InvalidArgumentError(absl::StrCat(
                            bad, ": the file is empty; expected records of CIFAR-10")));
  EXPECT_EQ(status(good + good.substr(0, 3072)),
            absl::DataLossError(
                absl::StrCat(bad, ": byte 3073: a record needs 3073 bytes, 3072 are left")));
  EXPECT_EQ(status(good + Record(10, 1, 2, 3)),
            absl::InvalidArgumentError(
                absl::StrCat(bad, ": byte 3073: the label is 10; CIFAR-10 has 0 to 9")));
  EXPECT_EQ(status(Record('\xff', 1, 2, 3)),
            absl::InvalidArgumentError(
                absl::StrCat(bad, ": byte 0: the label is 255; CIFAR-10 has 0 to 9")));
  EXPECT_EQ(LoadCifar10({folder.Path("none")}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fixpoint
