// Rendered digits: the same on every machine, like digits, and neither trivial nor hopeless to tell
// apart.

#include "runtime/data/digits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

constexpr size_t kPixels = 28 * 28;

ImageSet Digits(int64_t count, uint64_t seed) {
  absl::StatusOr<ImageSet> set = RenderDigits(count, seed);
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

absl::Span<const uint8_t> Image(const ImageSet& set, size_t i) {
  return set.images.data<uint8_t>().subspan(i * kPixels, kPixels);
}

// The rows that have ink, without the noise.
std::string Drawn(absl::Span<const uint8_t> image) {
  std::string rows = "\n";
  for (size_t row = 0; row < 28; ++row) {
    std::string text;
    for (const uint8_t pixel : image.subspan(row * 28, 28)) text += pixel > 80 ? '#' : ' ';
    text.erase(text.find_last_not_of(' ') + 1);
    if (!text.empty()) rows += text + "\n";
  }
  return rows;
}

TEST(Digits, AreDrawn) {
  const ImageSet set = Digits(20, 1);
  EXPECT_THAT(set.images.dims(), ElementsAre(20, 1, 28, 28));
  EXPECT_THAT(set.labels.data<int64_t>(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(Drawn(Image(set, 7)), R"(
       ##
      ###########
      ###############
       ##############
              #######
                ####
                ####
                ###
               ####
               ###
              ####
              ####
              ###
              ###
              ###
             ####
             ####
             ####
             ###
             ###
             ###
             ###
)");
}

// Results of training on them are compared between machines.
TEST(Digits, AreTheSameOnEveryMachine) {
  const ImageSet set = Digits(1000, 1);
  const absl::Span<const uint8_t> bytes = set.images.bytes();
  EXPECT_EQ(crc32_z(0, bytes.data(), bytes.size()), 3189263945u);
}

TEST(Digits, ALargerSetBeginsWithASmallerOne) {
  const ImageSet small = Digits(3, 1);
  const ImageSet large = Digits(30, 1);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(Image(small, i), Image(large, i));
}

TEST(Digits, ImagesOfADigitAndOfASeedDiffer) {
  const ImageSet set = Digits(20, 1);
  const ImageSet other = Digits(20, 2);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_NE(Image(set, i), Image(set, i + 10));
    EXPECT_NE(Image(set, i), Image(other, i));
  }
}

double SquaredDistance(absl::Span<const float> a, absl::Span<const uint8_t> b) {
  double sum = 0;
  for (size_t i = 0; i < kPixels; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// The share of `set` whose label is that of the nearest of `known`, point i of which has label
// i % 10.
double Accuracy(const std::vector<std::vector<float>>& known, const ImageSet& set) {
  const absl::Span<const int64_t> labels = set.labels.data<int64_t>();
  size_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < known.size(); ++k) {
      const double distance = SquaredDistance(known[k], Image(set, i));
      if (distance < least) {
        least = distance;
        nearest = k;
      }
    }
    if (static_cast<int64_t>(nearest % 10) == labels[i]) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

TEST(Digits, NeitherTheMeanNorANeighbourTellsAllOfThem) {
  const ImageSet train = Digits(1000, 1);
  const ImageSet test = Digits(100, 2);
  std::vector<std::vector<float>> neighbours;
  std::vector<std::vector<float>> means(10, std::vector<float>(kPixels));
  for (size_t i = 0; i < 1000; ++i) {
    const absl::Span<const uint8_t> image = Image(train, i);
    neighbours.emplace_back(image.begin(), image.end());
    for (size_t k = 0; k < kPixels; ++k) means[i % 10][k] += static_cast<float>(image[k]) / 100;
  }
  const double by_mean = Accuracy(means, test);
  EXPECT_GT(by_mean, 0.5);
  EXPECT_LT(by_mean, 0.8);
  const double by_neighbour = Accuracy(neighbours, test);
  EXPECT_GT(by_neighbour, 0.65);
  EXPECT_LT(by_neighbour, 0.9);
}

TEST(Digits, TheirNumberIsBounded) {
  EXPECT_EQ(RenderDigits(-1, 1).status(),
            absl::InvalidArgumentError("the number of images is -1; expected 0 to 4294967295"));
  EXPECT_EQ(RenderDigits(int64_t{1} << 32, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Digits(0, 1).labels.size(), 0);
}

}  // namespace
}  // namespace fixpoint
