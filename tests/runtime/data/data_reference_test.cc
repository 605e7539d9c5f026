// The real data sets: their known counts, labels and pixels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "runtime/data/cifar10.h"
#include "runtime/data/idx.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

absl::Span<const int64_t> FirstLabels(const ImageSet& set) {
  return set.labels.data<int64_t>().subspan(0, 10);
}

int64_t SumOfPixels(const ImageSet& set) {
  const auto pixels = set.images.data<uint8_t>();
  return std::accumulate(pixels.begin(), pixels.end(), int64_t{0});
}

absl::StatusOr<ImageSet> LoadMnist(const char* part) {
  return LoadIdx(ReferencePath(absl::StrCat("data/mnist/", part, "-images-idx3-ubyte.gz")),
                 ReferencePath(absl::StrCat("data/mnist/", part, "-labels-idx1-ubyte.gz")));
}

// A mean of 33.3184 and of 33.7912 of 255, the 0.1307 and the 0.1325 that programs subtract.
TEST(Mnist, IsTheSetThatIsKnown) {
  SKIP_WITHOUT_REFERENCE_PATH("data/mnist");
  const absl::StatusOr<ImageSet> train = LoadMnist("train");
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_THAT(train->images.dims(), ElementsAre(60000, 1, 28, 28));
  EXPECT_THAT(FirstLabels(*train), ElementsAre(5, 0, 4, 1, 9, 2, 1, 3, 1, 4));
  EXPECT_EQ(SumOfPixels(*train), 1567298545);

  const absl::StatusOr<ImageSet> test = LoadMnist("t10k");
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT(test->images.dims(), ElementsAre(10000, 1, 28, 28));
  EXPECT_THAT(FirstLabels(*test), ElementsAre(7, 2, 1, 0, 4, 1, 4, 9, 5, 9));
  EXPECT_EQ(SumOfPixels(*test), 264923200);
}

// "cat/tabby_cat_s_001089.png" for each record: the class, and the image of the original.
std::vector<std::string> RecordNames(const char* part) {
  const std::string text =
      ReadFileOrDie(ReferencePath(absl::StrCat("data/cifar10/", part, "_subset.names.txt")));
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

TEST(Cifar10, LabelsAreThoseOfTheNames) {
  SKIP_WITHOUT_REFERENCE_PATH("data/cifar10");
  const std::vector<std::string> classes = absl::StrSplit(
      ReadFileOrDie(ReferencePath("data/cifar10/batches.meta.txt")), '\n', absl::SkipEmpty());
  ASSERT_EQ(classes.size(), 10u);
  for (const char* part : {"train", "test"}) {
    const std::vector<std::string> names = RecordNames(part);
    const absl::StatusOr<ImageSet> set =
        LoadCifar10({ReferencePath(absl::StrCat("data/cifar10/", part, "_subset.bin"))});
    ASSERT_TRUE(set.ok()) << set.status();
    const auto labels = set->labels.data<int64_t>();
    ASSERT_EQ(labels.size(), names.size());
    EXPECT_THAT(set->images.dims(), ElementsAre(names.size(), 3, 32, 32));
    std::array<size_t, 10> counts = {};
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_THAT(names[i], testing::StartsWith(classes[labels[i]] + "/"));
      ++counts[labels[i]];
    }
    EXPECT_THAT(counts, Each(names.size() / 10));
  }
}

// The first record of data_batch_1 in the original.
TEST(Cifar10, AFrogHasItsPixels) {
  SKIP_WITHOUT_REFERENCE_PATH("data/cifar10");
  const std::vector<std::string> names = RecordNames("train");
  const auto found =
      std::find(names.begin(), names.end(), "frog/leptodactylus_pentadactylus_s_000004.png");
  ASSERT_NE(found, names.end());
  const absl::StatusOr<ImageSet> set =
      LoadCifar10({ReferencePath("data/cifar10/train_subset.bin")});
  ASSERT_TRUE(set.ok()) << set.status();
  constexpr size_t kPixels = 3 * 32 * 32;
  const auto frog = set->images.data<uint8_t>().subspan((found - names.begin()) * kPixels, kPixels);
  EXPECT_THAT(frog.subspan(0, 3), ElementsAre(59, 43, 50));
  EXPECT_THAT(frog.subspan(kPixels - 3), ElementsAre(140, 84, 72));
}

}  // namespace
}  // namespace fixpoint
