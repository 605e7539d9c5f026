// Batches made ahead are those that are made when they are asked for, and so are their errors.

#include "runtime/data/batches_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/data/image_samples.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"
#include "tests/testing/watched_samples.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kSamples = 11;

ImageSamples CountedImages() {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < kSamples; ++i) {
    for (int64_t pixel = 0; pixel < 16; ++pixel) {
      pixels.push_back(static_cast<uint8_t>(16 * i + pixel));
    }
    labels.push_back(i);
  }
  return ImageSamples::Create({Tensor::FromValues<uint8_t>({kSamples, 1, 4, 4}, pixels),
                               Tensor::FromValues<int64_t>({kSamples}, labels)})
      .value();
}

Batcher InOrder(const SampleSet& set) {
  BatchOptions options;
  options.batch_size = 3;
  options.shuffle = false;
  return Batcher::Create(&set, options).value();
}

TEST(BatchesAhead, AreThoseOfTheBatcher) {
  const ImageSamples set = CountedImages();
  BatchOptions options;
  options.batch_size = 3;
  options.seed = 5;
  options.augmentation.padding = 1;
  Batcher batcher = Batcher::Create(&set, options).value();
  Batcher made_ahead = batcher;
  BatchesAhead ahead(&made_ahead);
  for (int i = 0; i < 12; ++i) {
    const absl::StatusOr<Batch> batch = ahead.At(batcher.Position());
    ASSERT_TRUE(batch.ok()) << batch.status();
    const absl::StatusOr<Batch> expected = batcher.Next();
    EXPECT_EQ(batch->samples, expected->samples) << i;
    EXPECT_EQ(batch->values[0].bytes(), expected->values[0].bytes()) << i;
    EXPECT_EQ(batch->values[1].bytes(), expected->values[1].bytes()) << i;
  }
}

TEST(BatchesAhead, MayBeAskedForInAnyOrder) {
  const ImageSamples set = CountedImages();
  Batcher batcher = InOrder(set);
  BatchesAhead ahead(&batcher);
  EXPECT_THAT(ahead.At({0, 2})->samples, ElementsAre(6, 7, 8));
  EXPECT_THAT(ahead.At({0, 0})->samples, ElementsAre(0, 1, 2));
  EXPECT_THAT(ahead.At({0, 0})->samples, ElementsAre(0, 1, 2));
  EXPECT_EQ(ahead.At({0, 4}).status(), InOrder(set).Seek({0, 4}));
  EXPECT_THAT(ahead.At({3, 3})->samples, ElementsAre(9, 10));
  EXPECT_THAT(ahead.At({4, 0})->samples, ElementsAre(0, 1, 2));
}

TEST(BatchesAhead, TheNextIsMadeOnAnotherThreadMeanwhile) {
  std::atomic<bool> is_made{false};
  const ImageSamples images = CountedImages();
  const WatchedSamples set(
      &images, [&, here = std::this_thread::get_id()](absl::Span<const int64_t> samples) {
        EXPECT_EQ(std::this_thread::get_id() == here, samples.front() == 0);
        if (samples.front() == 3) is_made = true;
        return absl::OkStatus();
      });
  Batcher batcher = InOrder(set);
  BatchesAhead ahead(&batcher);
  EXPECT_TRUE(ahead.At({0, 0}).ok());
  while (!is_made) std::this_thread::yield();
}

TEST(BatchesAhead, AnErrorIsThatOfItsBatch) {
  const ImageSamples images = CountedImages();
  const WatchedSamples set(&images, [](absl::Span<const int64_t> samples) {
    return samples.front() == 3 ? absl::DataLossError("sample 3 is bad") : absl::OkStatus();
  });
  Batcher batcher = InOrder(set);
  BatchesAhead ahead(&batcher);
  EXPECT_TRUE(ahead.At({0, 0}).ok());
  EXPECT_EQ(ahead.At({0, 1}).status(), absl::DataLossError("sample 3 is bad"));
  EXPECT_EQ(ahead.At({0, 1}).status(), absl::DataLossError("sample 3 is bad"));
  EXPECT_THAT(ahead.At({0, 2})->samples, ElementsAre(6, 7, 8));
}

TEST(BatchesAhead, WhatIsThrownIsThrownWhereTheBatchIsAskedFor) {
  const ImageSamples images = CountedImages();
  const WatchedSamples set(&images, [](absl::Span<const int64_t> samples) {
    if (samples.front() == 3) throw std::bad_alloc();
    return absl::OkStatus();
  });
  Batcher batcher = InOrder(set);
  BatchesAhead ahead(&batcher);
  EXPECT_TRUE(ahead.At({0, 0}).ok());
  EXPECT_THROW(ahead.At({0, 1}).IgnoreError(), std::bad_alloc);
  EXPECT_TRUE(ahead.At({0, 2}).ok());
}

TEST(BatchesAhead, NoneIsBeingMadeWhenTheyEnd) {
  std::atomic<int> readers{0};
  std::atomic<bool> has_begun{false};
  const ImageSamples images = CountedImages();
  const WatchedSamples set(&images, [&](absl::Span<const int64_t> samples) {
    ++readers;
    if (samples.front() == 3) {
      has_begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    --readers;
    return absl::OkStatus();
  });
  {
    Batcher batcher = InOrder(set);
    BatchesAhead ahead(&batcher);
    EXPECT_TRUE(ahead.At({0, 0}).ok());
    while (!has_begun) std::this_thread::yield();
  }
  EXPECT_EQ(readers, 0);
}

// Each time up to the end, as evaluations take them.
TEST(BatchesAhead, NoneIsMadeFromTheEndOn) {
  const ImageSamples images = CountedImages();
  std::vector<int64_t> read;
  std::vector<int64_t> told;
  const WatchedSamples set(
      &images,
      [&](absl::Span<const int64_t> samples) {
        read.push_back(samples.front());
        return absl::OkStatus();
      },
      [&](absl::Span<const int64_t> samples) { told.push_back(samples.front()); });
  {
    Batcher batcher = InOrder(set);
    BatchesAhead ahead(&batcher);
    ahead.EndAt({1, 0});
    for (int64_t i = 0; i < 8; ++i) EXPECT_TRUE(ahead.At({0, i % 4}).ok());
  }
  EXPECT_THAT(read, ElementsAre(0, 3, 6, 9, 0, 3, 6, 9));
  EXPECT_THAT(told, ElementsAre(3, 6, 9, 3, 6, 9));
}

TEST(BatchesAhead, TheEndMayBeToldLate) {
  const ImageSamples images = CountedImages();
  std::vector<int64_t> read;
  const WatchedSamples set(&images, [&](absl::Span<const int64_t> samples) {
    read.push_back(samples.front());
    return absl::OkStatus();
  });
  {
    Batcher batcher = InOrder(set);
    BatchesAhead ahead(&batcher);
    EXPECT_TRUE(ahead.At({0, 0}).ok());
    ahead.EndAt({0, 2});
    EXPECT_TRUE(ahead.At({0, 1}).ok());
    EXPECT_TRUE(ahead.At({0, 3}).ok())
        << "beyond the end is only what is made when it is asked for";
  }
  EXPECT_THAT(read, ElementsAre(0, 3, 9));
}

}  // namespace
}  // namespace fixpoint
