// Images in files: decoding, resizing, cutting out, lists and folders of them, and samples.

#include "runtime/data/image_file_samples.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/data/batcher.h"
#include "runtime/data/data_source.h"
#include "runtime/data/image_list.h"
#include "runtime/data/pixels.h"
#include "runtime/tensor.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::absl::InvalidArgumentError;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Pixel (y, x) is y, x and 100.
Pixels Ramp(int64_t height, int64_t width) {
  Pixels image{height, width, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (const int64_t value : {y, x, int64_t{100}}) {
        image.values.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  return image;
}

Pixels Flat(int64_t height, int64_t width, uint8_t value) {
  return {height, width, std::vector<uint8_t>(static_cast<size_t>(3 * height * width), value)};
}

std::string Png(const Pixels& pixels) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(pixels.width);
  image.height = static_cast<png_uint_32>(pixels.height);
  image.format = PNG_FORMAT_RGB;
  std::string bytes(1 << 16, '\0');
  png_alloc_size_t size = bytes.size();
  EXPECT_NE(
      png_image_write_to_memory(&image, &bytes[0], &size, 0, pixels.values.data(), 0, nullptr), 0);
  bytes.resize(size);
  return bytes;
}

std::string Jpeg(const Pixels& pixels) {
  void* const encoder = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): the type of TurboJPEG
  EXPECT_EQ(tjCompress2(encoder, pixels.values.data(), static_cast<int>(pixels.width), 0,
                        static_cast<int>(pixels.height), TJPF_RGB, &data, &size, TJSAMP_444, 100,
                        TJFLAG_ACCURATEDCT),
            0);
  std::string bytes(reinterpret_cast<const char*>(data), size);
  tjFree(data);
  tjDestroy(encoder);
  return bytes;
}

TEST(DecodeImage, OfAPngGivesItsPixels) {
  const Pixels image = Ramp(3, 5);
  const absl::StatusOr<Pixels> decoded = DecodeImage(Png(image));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->height, 3);
  EXPECT_EQ(decoded->width, 5);
  EXPECT_EQ(decoded->values, image.values);
}

// A flat image has no error of compression beyond that of the colors.
TEST(DecodeImage, OfAJpegGivesItsPixels) {
  const absl::StatusOr<Pixels> decoded = DecodeImage(Jpeg(Flat(9, 4, 77)));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->height, 9);
  EXPECT_EQ(decoded->width, 4);
  EXPECT_THAT(decoded->values, Each(77));
}

TEST(DecodeImage, WhatIsDamagedIsRefused) {
  const std::string png = Png(Ramp(20, 20));
  const std::string jpeg = Jpeg(Ramp(20, 20));
  for (const std::string& bytes : {png, jpeg}) {
    for (const size_t size : {bytes.size() / 2, bytes.size() - bytes.size() / 4, size_t{12}}) {
      EXPECT_EQ(DecodeImage(bytes.substr(0, size)).status().code(), absl::StatusCode::kDataLoss);
    }
  }
  EXPECT_EQ(DecodeImage("GIF89a").status(), InvalidArgumentError("it is neither a JPEG nor a PNG"));
  EXPECT_EQ(DecodeImage("").status(), InvalidArgumentError("it is neither a JPEG nor a PNG"));
  // The header of a PNG says how large it is.
  std::string large = png;
  large.replace(16, 8, std::string("\0\1\0\0\0\1\0\0", 8));
  EXPECT_FALSE(DecodeImage(large).ok());
}

// Pillow 9.4 gives the same: Image.fromarray(line).resize((n, 1), Image.BILINEAR).
TEST(Resized, IsATriangleAsWideAsTwoPixels) {
  Pixels line{1, 4, {}};
  for (const uint8_t value : {0, 40, 80, 200}) line.values.insert(line.values.end(), 3, value);
  const auto reds = [&](int64_t width) {
    const Pixels resized = Resized(line, 1, width);
    std::vector<int> values;
    for (size_t i = 0; i < resized.values.size(); i += 3) values.push_back(resized.values[i]);
    return values;
  };
  EXPECT_THAT(reds(4), ElementsAre(0, 40, 80, 200));
  // 1/7 * (3 * 0 + 3 * 40 + 80), and the same from the other end.
  EXPECT_THAT(reds(2), ElementsAre(29, 126));
  // Each new pixel is 3/4 of the nearest and 1/4 of the next.
  EXPECT_THAT(reds(8), ElementsAre(0, 10, 30, 50, 70, 110, 170, 200));
}

TEST(Resized, KeepsBothDirectionsApart) {
  const Pixels resized = Resized(Ramp(4, 4), 2, 4);
  EXPECT_EQ(resized.height, 2);
  EXPECT_EQ(resized.width, 4);
  // (3 * 0 + 3 * 1 + 2) / 7 is 0.71; columns stay.
  EXPECT_EQ(resized.values[0], 1);
  EXPECT_EQ(resized.values[3 * 3 + 1], 3);
  EXPECT_EQ(resized.values[2], 100);
}

TEST(Cropped, IsTheMiddle) {
  const absl::StatusOr<Pixels> cropped = Cropped(Ramp(6, 9), 2, 4);
  ASSERT_TRUE(cropped.ok()) << cropped.status();
  EXPECT_EQ(cropped->values[0], 2);
  EXPECT_EQ(cropped->values[1], 2);
  EXPECT_EQ(cropped->values.size(), 24u);
  EXPECT_EQ(Cropped(Ramp(6, 9), 7, 4).status(),
            InvalidArgumentError("the image is 9 x 6, too small to cut out 4 x 7; want it resized "
                                 "before"));
}

ImageData Parsed(const std::string& text) {
  ImageData data;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &data)) << text;
  return data;
}

class ImageFiles : public testing::Test {
 protected:
  ImageFiles() {
    folder_.Write("set/cat/b.png", Png(Ramp(2, 3)));
    folder_.Write("set/cat/a.PNG", Png(Flat(2, 3, 9)));
    folder_.Write("set/cat/notes.txt", "none");
    folder_.Write("set/ape/c.jpg", Jpeg(Flat(2, 3, 50)));
    folder_.Write("list.txt", "set/cat/b.png 4\n\n  set/ape/c.jpg\t0\n");
  }

  absl::StatusOr<ImageFileSamples> Open(const std::string& text) const {
    return ImageFileSamples::Open(Parsed(text), folder_.Path());
  }

  TemporaryFolder folder_;
};

TEST_F(ImageFiles, OfAFolderHaveTheClassOfTheirFolder) {
  const auto samples = Open("images: 'set'");
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->size(), 3);
  EXPECT_EQ(samples->NameOf(0), folder_.Path("set/ape/c.jpg"));
  EXPECT_EQ(samples->NameOf(1), folder_.Path("set/cat/a.PNG"));
  EXPECT_EQ(samples->NameOf(2), folder_.Path("set/cat/b.png"));
  const auto read = samples->Read({2, 0, 1}, {{1, {1}}, {0, {3, 2, 3}}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT((*read)[0].data<int64_t>(), ElementsAre(1, 0, 1));
  // Channel by channel, from 0 to 1.
  const float y = 1.0F / 255;
  EXPECT_THAT((*read)[1].data<float>().subspan(0, 12),
              testing::Pointwise(testing::FloatEq(),
                                 {0.0F, 0.0F, 0.0F, y, y, y, 0.0F, y, 2 * y, 0.0F, y, 2 * y}));
}

TEST_F(ImageFiles, OfAListHaveItsLabels) {
  const auto samples = Open("images: 'list.txt' crop { height: 1 width: 1 }");
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->size(), 2);
  EXPECT_THAT((*samples->Read({0, 1}, {{1, {}}}))[0].data<int64_t>(), ElementsAre(4, 0));
  EXPECT_THAT(samples->fields()[0].dims, ElementsAre(3, 1, 1));
}

TEST_F(ImageFiles, ChannelsAreOrderedAndNormalized) {
  const auto samples = Open(
      "images: 'list.txt' channels: BGR scale: 1 mean: [100, 1, 0] std: [1, 2, 4]"
      "crop { height: 1 width: 1 }");
  ASSERT_TRUE(samples.ok()) << samples.status();
  // The pixel at row 0, column 1 is 0, 1, 100.
  EXPECT_THAT((*samples->Read({0}, {{0, {3, 1, 1}}}))[0].data<float>(), ElementsAre(0, 0, 0));
  EXPECT_THAT((*samples->Read({1}, {{0, {3, 1, 1}}}))[0].data<float>(),
              ElementsAre(-50, 24.5, 12.5));
  const auto gray = Open("images: 'list.txt' channels: GRAY scale: 1");
  ASSERT_TRUE(gray.ok()) << gray.status();
  EXPECT_THAT((*gray->Read({1}, {{0, {1, 2, 3}}}))[0].data<float>(), Each(50));
}

TEST_F(ImageFiles, AreResizedToOneSize) {
  folder_.Write("set/cat/a.PNG", Png(Flat(40, 10, 9)));
  EXPECT_EQ(Open("images: 'set' resize { height: 7 width: 5 }")->fields()[0].dims,
            std::vector<int64_t>({3, 7, 5}));
  const auto samples = Open("images: 'set' resize_shorter: 4 crop { height: 4 width: 4 }");
  ASSERT_TRUE(samples.ok()) << samples.status();
  const auto read = samples->Read({1}, {{0, {3, 4, 4}}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT((*read)[0].data<float>(), Each(testing::FloatEq(9.0F / 255)));
  const auto as_they_are = Open("images: 'set'");
  ASSERT_TRUE(as_they_are.ok()) << as_they_are.status();
  EXPECT_EQ(as_they_are->Read({1}, {{0, {18}}}).status(),
            InvalidArgumentError(absl::StrCat(
                folder_.Path("set/cat/a.PNG"), ": the image is 10 x 40, and ",
                folder_.Path("set/ape/c.jpg"), " is 3 x 2; want one size: resize or crop")));
}

TEST_F(ImageFiles, AreTheSameDecodedAheadOrNot) {
  const auto samples = Open("images: 'set'");
  ASSERT_TRUE(samples.ok()) << samples.status();
  BatchOptions options;
  options.batch_size = 2;
  Batcher batcher = Batcher::Create(&*samples, options).value();
  for (int i = 0; i < 4; ++i) {
    const absl::StatusOr<Batch> batch = batcher.Next();
    ASSERT_TRUE(batch.ok()) << batch.status();
    const auto read = Open("images: 'set'")->Read(batch->samples, {{0, {3, 2, 3}}});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_THAT(batch->values[0].data<float>(), ElementsAreArray((*read)[0].data<float>()));
  }
}

TEST_F(ImageFiles, AreTheSameWhenSeveralThreadsReadAhead) {
  const auto samples = Open("images: 'set'");
  ASSERT_TRUE(samples.ok()) << samples.status();
  const FieldForm form = {0, {3, 2, 3}};
  const auto read = [&](int64_t sample) {
    samples->WillRead({sample});
    return samples->Read({sample}, {form});
  };
  const std::vector<Tensor> expected[] = {read(0).value(), read(1).value()};
  std::vector<std::thread> threads;
  for (int64_t sample = 0; sample < 2; ++sample) {
    threads.emplace_back([&, sample] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(read(sample).value()[0].bytes(), expected[sample][0].bytes());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The first batch is good although the second has been decoded by then.
TEST_F(ImageFiles, ABadOneEndsTheBatchThatHasIt) {
  folder_.Write("set/cat/b.png", "broken");
  const auto samples = Open("images: 'set'");
  ASSERT_TRUE(samples.ok()) << samples.status();
  BatchOptions options;
  options.batch_size = 2;
  options.shuffle = false;
  Batcher batcher = Batcher::Create(&*samples, options).value();
  EXPECT_TRUE(batcher.Next().ok());
  EXPECT_EQ(batcher.Next().status(),
            InvalidArgumentError(
                absl::StrCat(folder_.Path("set/cat/b.png"), ": it is neither a JPEG nor a PNG")));
}

TEST_F(ImageFiles, BadOnesAreLeftOutIfThatIsAskedFor) {
  EXPECT_EQ(Open("images: 'set' skip_bad: true")->Note(), "");
  folder_.Write("set/ape/c.jpg", "broken");
  folder_.Write("set/cat/b.png", "");
  const auto samples = Open("images: 'set' skip_bad: true");
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->size(), 1);
  EXPECT_EQ(samples->NameOf(0), folder_.Path("set/cat/a.PNG"));
  EXPECT_EQ(samples->Note(),
            absl::StrCat("left out 2 of 3 images, the first because of this: ",
                         folder_.Path("set/ape/c.jpg"), ": it is neither a JPEG nor a PNG"));
  folder_.Write("set/cat/a.PNG", "");
  EXPECT_EQ(Open("images: 'set' skip_bad: true").status(),
            InvalidArgumentError(
                absl::StrCat(folder_.Path("set/ape/c.jpg"), ": it is neither a JPEG nor a PNG")));
}

TEST_F(ImageFiles, WhatIsWrongIsNamed) {
  const auto message = [&](const std::string& text) {
    return std::string(Open(text).status().message());
  };
  EXPECT_THAT(message("images: 'nowhere'"), HasSubstr("nowhere"));
  folder_.Write("empty.txt", "\n");
  EXPECT_EQ(
      message("images: 'empty.txt'"),
      absl::StrCat(folder_.Path("empty.txt"), ": has no images; want lines of a path and a label"));
  folder_.Write("bad.txt", "set/cat/b.png 1\nset/cat/b.png cat\n");
  EXPECT_EQ(
      message("images: 'bad.txt'"),
      absl::StrCat(folder_.Path("bad.txt"), ":2: want a path, a blank and a label of 0 or more"));
  EXPECT_EQ(message("images: 'set' crop { height: 0 width: 1 }"),
            "the height of crop is 0; want 1 to 65536 pixels");
  EXPECT_EQ(message("images: 'set' mean: 1"),
            "there are 1 of mean and 0 of std; want none, or 3, one for each channel");
  EXPECT_THAT(message("images: 'set' std: [0, 1, 1]"), HasSubstr("want finite numbers"));
  EXPECT_THAT(message("images: 'set' resize_shorter: 4 resize { height: 1 width: 1 }"),
              HasSubstr("both give a size"));
  folder_.Write("set/ape/c.jpg", "broken");
  EXPECT_EQ(message("images: 'set'"),
            absl::StrCat(folder_.Path("set/ape/c.jpg"), ": it is neither a JPEG nor a PNG"));
}

TEST_F(ImageFiles, TheirChecksumIsOfNamesSizesLabelsAndPreparation) {
  const auto checksum = [&](const std::string& text) { return *Open(text)->Checksum(); };
  const uint64_t of_list = checksum("images: 'list.txt'");
  EXPECT_EQ(checksum("images: 'list.txt'"), of_list);
  EXPECT_NE(checksum("images: 'list.txt' channels: BGR"), of_list);
  folder_.Write("list.txt", "set/cat/b.png 5\nset/ape/c.jpg 0\n");
  EXPECT_NE(checksum("images: 'list.txt'"), of_list);
}

TEST_F(ImageFiles, ACommandLineNamesThemOrAFileThatDescribesThem) {
  folder_.Write("data.textproto", "images: 'set' crop { height: 2 width: 2 }");
  const auto dims = [&](const std::string& name) {
    const auto opened =
        OpenSamples(*ParseDataSource(absl::StrCat("images:", folder_.Path(name))), DataPart::kTest);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? (*opened)->fields()[0].dims : std::vector<int64_t>();
  };
  EXPECT_THAT(dims("set"), ElementsAre(3, 2, 3));
  EXPECT_THAT(dims("list.txt"), ElementsAre(3, 2, 3));
  EXPECT_THAT(dims("data.textproto"), ElementsAre(3, 2, 2));
  EXPECT_TRUE(IsOfImages(*ParseDataSource("images:set")));
  EXPECT_FALSE(HasTestPart(*ParseDataSource("images:set")));
  EXPECT_TRUE(HasTestPart(*ParseDataSource("digits:50")));
}

}  // namespace
}  // namespace fixpoint
