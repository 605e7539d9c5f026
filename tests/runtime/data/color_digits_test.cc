// Digits in color: the rendered digits, in light ink on dark paper.

#include "runtime/data/color_digits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/data/digits.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

constexpr size_t kPixels = 32 * 32;

ImageSet ColorDigits(int64_t count, uint64_t seed) {
  absl::StatusOr<ImageSet> set = RenderColorDigits(count, seed);
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

absl::Span<const uint8_t> Channel(const ImageSet& set, size_t image, size_t channel) {
  return set.images.data<uint8_t>().subspan((3 * image + channel) * kPixels, kPixels);
}

TEST(ColorDigits, HaveTheShapeOfCifarAndTheLabelsOfDigits) {
  const ImageSet set = ColorDigits(12, 1);
  EXPECT_THAT(set.images.dims(), ElementsAre(12, 3, 32, 32));
  EXPECT_THAT(set.labels.data<int64_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1));
}

// As much lighter than the paper as the gray digit has ink, of which all is 96 to 127 levels.
TEST(ColorDigits, AreDigitsInLightInkOnDarkPaper) {
  const ImageSet set = ColorDigits(50, 1);
  const ImageSet gray = *RenderDigits(50, 1);
  for (size_t image = 0; image < 50; ++image) {
    for (size_t c = 0; c < 3; ++c) {
      const absl::Span<const uint8_t> channel = Channel(set, image, c);
      const int paper = channel[0];
      EXPECT_LT(paper, 128);
      for (size_t i = 0; i < kPixels; ++i) {
        const size_t row = i / 32;
        const size_t column = i % 32;
        const bool is_margin = row < 2 || row >= 30 || column < 2 || column >= 30;
        const double share =
            is_margin
                ? 0
                : gray.images.data<uint8_t>()[image * 784 + (row - 2) * 28 + column - 2] / 255.0;
        const int above = channel[i] - paper;
        EXPECT_GE(above, std::floor(96 * share)) << image << " " << c << " " << i;
        EXPECT_LE(above, std::ceil(127 * share)) << image << " " << c << " " << i;
      }
    }
  }
}

TEST(ColorDigits, AreTheSameOnEveryMachine) {
  const ImageSet set = ColorDigits(1000, 1);
  const absl::Span<const uint8_t> bytes = set.images.bytes();
  EXPECT_EQ(crc32_z(0, bytes.data(), bytes.size()), 2304670835u);
}

TEST(ColorDigits, EachChannelOfEachImageHasItsOwnPaper) {
  const ImageSet set = ColorDigits(10, 1);
  const ImageSet other = ColorDigits(10, 2);
  std::set<int> different;
  for (size_t image = 0; image < 10; ++image) {
    for (size_t c = 0; c < 3; ++c) {
      different.insert(Channel(set, image, c)[0]);
      different.insert(Channel(other, image, c)[0]);
    }
  }
  EXPECT_GT(different.size(), 30);  // of 60 draws from 128
  EXPECT_LT(*different.begin(), 16);
  EXPECT_GT(*different.rbegin(), 111);
}

TEST(ColorDigits, TheirNumberIsBounded) {
  EXPECT_EQ(RenderColorDigits(-1, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ColorDigits(0, 1).labels.size(), 0);
}

}  // namespace
}  // namespace fixpoint
