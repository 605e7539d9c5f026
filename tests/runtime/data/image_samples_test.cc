// Images in memory as samples.

#include "runtime/data/image_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/data_source.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

using ::absl::InvalidArgumentError;
using ::testing::ElementsAre;

// Two images of two pixels each.
ImageSet TwoImages() {
  return {Tensor::FromValues<uint8_t>({2, 1, 2, 1}, {0, 255, 10, 20}),
          Tensor::FromValues<int64_t>({2}, {7, 8})};
}

TEST(ImageSamples, AreFloatsAndLabels) {
  const ImageSamples samples = ImageSamples::Create(TwoImages()).value();
  EXPECT_EQ(samples.size(), 2);
  ASSERT_EQ(samples.fields().size(), 2u);
  EXPECT_EQ(samples.fields()[0].name, "images");
  EXPECT_THAT(samples.fields()[0].dims, ElementsAre(1, 2, 1));
  EXPECT_EQ(samples.fields()[1].name, "labels");
  EXPECT_THAT(samples.fields()[1].dims, ElementsAre(1));
  const absl::StatusOr<std::vector<Tensor>> read =
      samples.Read({1, 0, 1}, {{1, {1}}, {0, {1, 2, 1}}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT((*read)[0].dims(), ElementsAre(3, 1));
  EXPECT_THAT((*read)[0].data<int64_t>(), ElementsAre(8, 7, 8));
  EXPECT_THAT((*read)[1].dims(), ElementsAre(3, 1, 2, 1));
  EXPECT_THAT((*read)[1].data<float>(), ElementsAre(10 * (1.0F / 255), 20 * (1.0F / 255), 0, 1,
                                                    10 * (1.0F / 255), 20 * (1.0F / 255)));
}

TEST(ImageSamples, PixelsAreScaledAndMoved) {
  const ImageSamples samples = ImageSamples::Create(TwoImages(), {0.5, -1}).value();
  EXPECT_THAT((*samples.Read({0}, {{0, {2}}}))[0].data<float>(), ElementsAre(-1, 126.5));
}

// Checkpoints hold it.
TEST(ImageSamples, TheirChecksumIsThatOfPixelsAndLabels) {
  EXPECT_EQ(*ImageSamples::Create(TwoImages())->Checksum(), uint64_t{20} << 32 ^ 0xF655ECD8);
  ImageSet relabelled = TwoImages();
  relabelled.labels.mutable_data<int64_t>()[1] = 9;
  EXPECT_NE(*ImageSamples::Create(std::move(relabelled))->Checksum(),
            *ImageSamples::Create(TwoImages())->Checksum());
}

TEST(ImageSamples, SayWhatIsWrong) {
  EXPECT_EQ(ImageSamples::Create(TwoImages(), {1, std::numeric_limits<float>::infinity()}).status(),
            InvalidArgumentError("the scale is 1 and the offset inf; expected finite numbers"));
  EXPECT_EQ(ImageSamples::Create({Tensor::FromValues<float>({1, 1, 1, 1}, {0}),
                                  Tensor::FromValues<int64_t>({1}, {0})})
                .status(),
            InvalidArgumentError("the images are FP32 [1, 1, 1, 1]; expected UINT8 [N, C, H, W]"));
  EXPECT_EQ(
      ImageSamples::Create({Tensor::FromValues<uint8_t>({2, 1, 1, 1}, {0, 0}),
                            Tensor::FromValues<int64_t>({1}, {0})})
          .status(),
      InvalidArgumentError("the labels are INT64 [1]; expected INT64 [2], one for each image"));
}

TEST(OpenSamples, GivesTheImagesOfASet) {
  const DataSource source = ParseDataSource("digits:50").value();
  const auto training = OpenSamples(source, DataPart::kTraining);
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_EQ((*training)->size(), 50);
  EXPECT_EQ((*OpenSamples(source, DataPart::kTest))->size(), 10);
  EXPECT_FALSE(ParseDataSource("imagenet:x").ok());
}

}  // namespace
}  // namespace fixpoint
