// Batches in the order of the set and shuffled, the last one, and a run that is resumed.

#include "runtime/data/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/data/image_samples.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// Image i is two pixels, i and 255 - i; its label is 100 + i.
ImageSamples CountedSet(int64_t count) {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    pixels.push_back(static_cast<uint8_t>(i));
    pixels.push_back(static_cast<uint8_t>(255 - i));
    labels.push_back(100 + i);
  }
  return ImageSamples::Create({Tensor::FromValues<uint8_t>({count, 1, 2, 1}, pixels),
                               Tensor::FromValues<int64_t>({count}, labels)})
      .value();
}

BatchOptions InOrder(int64_t batch_size) {
  BatchOptions options;
  options.batch_size = batch_size;
  options.shuffle = false;
  return options;
}

Batcher BatcherOf(const SampleSet& set, const BatchOptions& options) {
  absl::StatusOr<Batcher> batcher = Batcher::Create(&set, options);
  EXPECT_TRUE(batcher.ok()) << batcher.status();
  return *std::move(batcher);
}

std::vector<int64_t> NextLabels(Batcher& batcher) {
  const absl::StatusOr<Batch> batch = batcher.Next();
  EXPECT_TRUE(batch.ok()) << batch.status();
  const absl::Span<const int64_t> labels = batch->values[1].data<int64_t>();
  return {labels.begin(), labels.end()};
}

std::vector<int64_t> LabelsOf(Batcher& batcher, int64_t batches) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < batches; ++i) {
    const std::vector<int64_t> labels = NextLabels(batcher);
    all.insert(all.end(), labels.begin(), labels.end());
  }
  return all;
}

TEST(Batcher, ABatchHasImagesAndLabels) {
  const ImageSamples set = CountedSet(3);
  Batcher batcher = BatcherOf(set, InOrder(2));
  const absl::StatusOr<Batch> batch = batcher.Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->samples, ElementsAre(0, 1));
  EXPECT_THAT(batch->values[0].dims(), ElementsAre(2, 1, 2, 1));
  EXPECT_THAT(batch->values[0].data<float>(), ElementsAre(0, 1, 1.0F / 255, 254 * (1.0F / 255)));
  EXPECT_THAT(batch->values[1].dims(), ElementsAre(2, 1));
  EXPECT_THAT(batch->values[1].data<int64_t>(), ElementsAre(100, 101));
}

TEST(Batcher, TheLastBatchIsSmallerOrDropped) {
  const ImageSamples set = CountedSet(5);
  Batcher kept = BatcherOf(set, InOrder(2));
  EXPECT_EQ(kept.BatchesPerEpoch(), 3);
  EXPECT_THAT(LabelsOf(kept, 4), ElementsAre(100, 101, 102, 103, 104, 100, 101));

  BatchOptions options = InOrder(2);
  options.drop_last = true;
  Batcher dropped = BatcherOf(set, options);
  EXPECT_EQ(dropped.BatchesPerEpoch(), 2);
  EXPECT_THAT(LabelsOf(dropped, 3), ElementsAre(100, 101, 102, 103, 100, 101));

  EXPECT_EQ(BatcherOf(set, InOrder(5)).BatchesPerEpoch(), 1);
  EXPECT_EQ(BatcherOf(set, InOrder(std::numeric_limits<int64_t>::max())).BatchesPerEpoch(), 1);
}

BatchOptions Shuffled(int64_t batch_size, uint64_t seed) {
  BatchOptions options;
  options.batch_size = batch_size;
  options.seed = seed;
  return options;
}

TEST(Batcher, AnEpochTakesEachImageOnceInAnOrderOfItsOwn) {
  const ImageSamples set = CountedSet(100);
  std::vector<int64_t> sorted(100);
  std::iota(sorted.begin(), sorted.end(), 100);
  Batcher batcher = BatcherOf(set, Shuffled(8, 1));
  const std::vector<int64_t> first = LabelsOf(batcher, batcher.BatchesPerEpoch());
  const std::vector<int64_t> second = LabelsOf(batcher, batcher.BatchesPerEpoch());
  EXPECT_THAT(first, testing::UnorderedElementsAreArray(sorted));
  EXPECT_THAT(second, testing::UnorderedElementsAreArray(sorted));
  EXPECT_NE(first, sorted);
  EXPECT_NE(first, second);
  Batcher other_seed = BatcherOf(set, Shuffled(8, uint64_t{1} << 32 | 1));
  EXPECT_NE(LabelsOf(other_seed, 13), first);
}

// The order for a seed must never change, because runs are compared by it.
TEST(Batcher, TheOrderIsThatOfTheSeedAndTheEpoch) {
  const ImageSamples set = CountedSet(8);
  Batcher batcher = BatcherOf(set, Shuffled(8, 7));
  EXPECT_THAT(NextLabels(batcher), ElementsAre(105, 101, 102, 103, 104, 100, 107, 106));
  EXPECT_THAT(NextLabels(batcher), ElementsAre(106, 103, 100, 107, 105, 101, 102, 104));
}

// Each of the 24 orders of 4 images comes in 1000 of 24000 epochs, give or take 5 standard
// deviations.
TEST(Batcher, AllOrdersAreEquallyLikely) {
  const ImageSamples set = CountedSet(4);
  Batcher batcher = BatcherOf(set, Shuffled(4, 3));
  std::map<std::vector<int64_t>, int> counts;
  for (int epoch = 0; epoch < 24000; ++epoch) ++counts[NextLabels(batcher)];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [labels, count] : counts) EXPECT_NEAR(count, 1000, 155);
}

TEST(Batcher, ARunIsTakenUpAtAnyBatch) {
  const ImageSamples set = CountedSet(10);
  Batcher whole = BatcherOf(set, Shuffled(3, 5));
  for (int64_t batch = 0; batch < 12; ++batch) {
    const BatchPosition position = whole.Position();
    EXPECT_EQ(position.epoch, batch / 4);
    EXPECT_EQ(position.batch, batch % 4);
    Batcher resumed = BatcherOf(set, Shuffled(3, 5));
    ASSERT_EQ(resumed.Seek(position), absl::OkStatus());
    EXPECT_THAT(LabelsOf(resumed, 5), ElementsAreArray([&] {
                  Batcher ahead = whole;
                  return LabelsOf(ahead, 5);
                }()));
    NextLabels(whole);
  }
  // Back too.
  ASSERT_EQ(whole.Seek({0, 0}), absl::OkStatus());
  Batcher fresh = BatcherOf(set, Shuffled(3, 5));
  EXPECT_EQ(LabelsOf(whole, 4), LabelsOf(fresh, 4));
}

TEST(Batcher, ThereIsNoBatchBeyondAnEpoch) {
  const ImageSamples set = CountedSet(10);
  Batcher batcher = BatcherOf(set, Shuffled(3, 5));
  EXPECT_EQ(batcher.Seek({2, 4}),
            absl::InvalidArgumentError("there is no batch 4 of epoch 2; epochs from 0 on have "
                                       "batches 0 to 3 with this set and batch size"));
  EXPECT_FALSE(batcher.Seek({-1, 0}).ok());
  EXPECT_FALSE(batcher.Seek({0, -1}).ok());
  EXPECT_EQ(batcher.Position().epoch, 0);
}

TEST(Batcher, SamplesHaveTheExtentsThatAreAskedFor) {
  const ImageSamples set = CountedSet(3);
  const auto dims = [&](std::vector<int64_t> wanted) -> absl::StatusOr<std::vector<int64_t>> {
    absl::StatusOr<Batcher> batcher = Batcher::Create(&set, {{0, std::move(wanted)}}, InOrder(3));
    if (!batcher.ok()) return batcher.status();
    return batcher->Next()->values[0].dims();
  };
  EXPECT_THAT(dims({2}).value(), ElementsAre(3, 2));
  EXPECT_EQ(dims({3}).status(),
            absl::InvalidArgumentError("a sample of \"images\" is [1, 2, 1], and in a batch it is "
                                       "to be [3]; want as many elements"));
  EXPECT_FALSE(dims({-1, -2}).ok());
}

TEST(Batcher, HasOnlyTheFieldsThatAreAskedFor) {
  const ImageSamples set = CountedSet(3);
  Batcher batcher = Batcher::Create(&set, {{1, {}}}, InOrder(2)).value();
  const absl::StatusOr<Batch> batch = batcher.Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->values.size(), 1u);
  EXPECT_THAT(batch->values[0].dims(), ElementsAre(2));
  EXPECT_THAT(batch->values[0].data<int64_t>(), ElementsAre(100, 101));
}

TEST(Batcher, SaysWhatIsWrong) {
  using absl::InvalidArgumentError;
  const ImageSamples set = CountedSet(5);
  const auto status = [](const SampleSet& set, const BatchOptions& options) {
    return Batcher::Create(&set, options).status();
  };
  EXPECT_EQ(status(set, InOrder(0)),
            InvalidArgumentError("the batch size is 0; expected 1 or more"));
  BatchOptions options = InOrder(6);
  options.drop_last = true;
  EXPECT_EQ(status(set, options),
            InvalidArgumentError("the set has 5 samples, less than a batch of 6, and the last "
                                 "batch is dropped: none is left"));
  EXPECT_EQ(status(CountedSet(0), InOrder(1)), InvalidArgumentError("the set has no samples"));
}

}  // namespace
}  // namespace fixpoint
