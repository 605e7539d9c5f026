// What augmentation does to images, and what it depends on.

#include "runtime/data/augmentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/wire/program.pb.h"
#include "runtime/data/batcher.h"
#include "runtime/data/image_samples.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

const SampleField& Field() {
  static const SampleField& field = *new SampleField{"images", VarType::FP32, {2, 2, 3}};
  return field;
}

// Two channels of 2 x 3 pixels, for each of the samples.
Tensor Images(size_t samples) {
  std::vector<float> values;
  for (size_t i = 0; i < samples; ++i) {
    for (const float value : {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}) values.push_back(value);
  }
  return Tensor::FromValues<float>({static_cast<int64_t>(samples), 2, 2, 3}, values);
}

std::vector<float> Augmented(const Augmentation& augmentation, uint64_t seed, int64_t epoch,
                             int64_t sample) {
  Tensor image = Images(1);
  EXPECT_EQ(Augment(augmentation, seed, epoch, Field(), {sample}, &image), absl::OkStatus());
  const absl::Span<const float> values = image.data<float>();
  return {values.begin(), values.end()};
}

TEST(Augmentation, MirrorsHalfOfTheImages) {
  int mirrored = 0;
  for (int64_t sample = 0; sample < 1000; ++sample) {
    const std::vector<float> image = Augmented({0, true}, 1, 0, sample);
    if (image[0] == 1) {
      EXPECT_THAT(image, ElementsAre(1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60));
    } else {
      EXPECT_THAT(image, ElementsAre(3, 2, 1, 6, 5, 4, 30, 20, 10, 60, 50, 40));
      ++mirrored;
    }
  }
  // Five standard deviations around a half.
  EXPECT_NEAR(mirrored, 500, 80);
}

TEST(Augmentation, MovesImagesInEachDirection) {
  std::set<std::vector<float>> seen;
  for (int64_t sample = 0; sample < 200; ++sample) {
    seen.insert(Augmented({1, false}, 1, 0, sample));
  }
  EXPECT_EQ(seen.size(), 9u);
  EXPECT_EQ(seen.count({1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}), 1u);
  EXPECT_EQ(seen.count({0, 0, 0, 1, 2, 3, 0, 0, 0, 10, 20, 30}), 1u);  // down
  EXPECT_EQ(seen.count({5, 6, 0, 0, 0, 0, 50, 60, 0, 0, 0, 0}), 1u);   // up and to the left
}

// The change for a seed must never differ, because runs are compared by it.
TEST(Augmentation, DependsOnSeedEpochAndSampleAlone) {
  const Augmentation both = {1, true};
  Tensor images = Images(3);
  ASSERT_EQ(Augment(both, 7, 2, Field(), {5, 9, 1}, &images), absl::OkStatus());
  EXPECT_THAT(images.data<float>().subspan(12, 12),
              testing::ElementsAreArray(Augmented(both, 7, 2, 9)));
  const auto differ = [&](uint64_t seed, int64_t epoch, int64_t first) {
    int different = 0;
    for (int64_t sample = 0; sample < 50; ++sample) {
      different += Augmented(both, seed, epoch, first + sample) != Augmented(both, 7, 2, sample);
    }
    return different;
  };
  EXPECT_EQ(differ(7, 2, 0), 0);
  EXPECT_GT(differ(8, 2, 0), 30);
  EXPECT_GT(differ(uint64_t{1} << 32 | 7, 2, 0), 30);
  EXPECT_GT(differ(7, 3, 0), 30);
  EXPECT_GT(differ(7, 2, 1), 30);
}

TEST(Batcher, AugmentsImagesByEpochAndSample) {
  std::vector<uint8_t> pixels(size_t{8} * 25);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i + 1);
  const ImageSamples set =
      ImageSamples::Create({Tensor::FromValues<uint8_t>({8, 1, 5, 5}, pixels),
                            Tensor::FromValues<int64_t>({8}, {0, 1, 2, 3, 4, 5, 6, 7})})
          .value();
  BatchOptions options;
  options.batch_size = 3;
  options.seed = 1;
  options.augmentation = {2, true};
  const auto batch_at = [&](BatchPosition position) {
    Batcher batcher = Batcher::Create(&set, options).value();
    EXPECT_EQ(batcher.Seek(position), absl::OkStatus());
    Batch batch = batcher.Next().value();
    const absl::Span<const uint8_t> bytes = std::as_const(batch.values[0]).bytes();
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
  };
  Batcher whole = Batcher::Create(&set, options).value();
  for (int i = 0; i < 7; ++i) {
    const BatchPosition position = whole.Position();
    const Batch batch = whole.Next().value();
    EXPECT_THAT(batch.values[0].bytes(), testing::ElementsAreArray(batch_at(position)));
  }
  options.shuffle = false;
  EXPECT_NE(batch_at({0, 0}), batch_at({1, 0}));
}

TEST(Batcher, AugmentsOnlyImages) {
  const ImageSamples set = ImageSamples::Create({Tensor::FromValues<uint8_t>({1, 1, 1, 1}, {5}),
                                                 Tensor::FromValues<int64_t>({1}, {0})})
                               .value();
  BatchOptions options;
  options.augmentation = {1, false};
  EXPECT_EQ(Batcher::Create(&set, {{1, {1}}}, options).status(),
            absl::InvalidArgumentError("there are no images to augment; want a field \"images\", "
                                       "FP32 [C, H, W]"));
  options.augmentation = {-1, false};
  EXPECT_EQ(Batcher::Create(&set, options).status(),
            absl::InvalidArgumentError("images are padded by -1 pixels; want 0 or more"));
}

}  // namespace
}  // namespace fixpoint
