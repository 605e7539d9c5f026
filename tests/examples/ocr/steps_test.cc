// PP-OCR's steps around its networks, beside what the libraries that it uses make of the same:
// OpenCV 4.10, pyclipper 1.4 and shapely 2.2 gave the numbers here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/ocr/characters.h"
#include "examples/ocr/crop.h"
#include "examples/ocr/geometry.h"
#include "examples/ocr/image.h"
#include "examples/ocr/network_inputs.h"
#include "examples/ocr/regions.h"
#include "examples/ocr/text_boxes.h"
#include "runtime/tensor.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace ocr {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Pair = std::pair<double, double>;

template <typename Points>
std::vector<Pair> PairsOf(const Points& points) {
  std::vector<Pair> pairs;
  for (const Point& point : points) pairs.emplace_back(point.x, point.y);
  return pairs;
}

Image SevenByFive() {
  Image image(5, 7);
  for (size_t i = 0; i < image.values.size(); ++i) {
    image.values[i] = static_cast<uint8_t>(i * 37 % 256);
  }
  return image;
}

TEST(Resized, IsSmallerAsInOpenCv) {
  EXPECT_THAT(Resized(SevenByFive(), 3, 4).values,
              ElementsAre(44, 81, 119, 207, 20, 57, 177, 214, 27, 115, 152, 189, 60, 97, 134, 222,
                          35, 72, 192, 229, 42, 130, 167, 204, 74, 111, 149, 87, 50, 87, 207, 95,
                          57, 145, 182, 113));
}

TEST(Resized, IsLargerAsInOpenCv) {
  const Image larger = Resized(SevenByFive(), 8, 11);
  const std::vector<uint8_t> row(larger.At(3, 0), larger.At(4, 0));
  EXPECT_THAT(row, ElementsAre(15, 52, 89, 66, 102, 139, 136, 150, 187, 207, 58, 95, 184, 58, 95,
                               92, 129, 166, 163, 200, 74, 163, 201, 51, 71, 108, 122, 119, 155,
                               193, 169, 206, 243));
}

TEST(QuarterTurned, PutsTheRightSideUp) {
  Image image(1, 2);
  image.At(0, 0)[0] = 1;
  image.At(0, 1)[0] = 2;
  const Image turned = QuarterTurned(image);
  ASSERT_EQ(turned.height, 2);
  EXPECT_EQ(turned.At(0, 0)[0], 2);
  EXPECT_EQ(turned.At(1, 0)[0], 1);
  EXPECT_EQ(HalfTurned(image).At(0, 0)[0], 2);
}

TEST(WritePng, IsReadAgain) {
  const TemporaryFolder folder;
  const Image image = SevenByFive();
  ASSERT_TRUE(WritePng(image, folder.Path("image.png")).ok());
  const absl::StatusOr<Image> read = ReadImage(folder.Path("image.png"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->height, 5);
  EXPECT_EQ(read->values, image.values);
}

TEST(ReadImage, NamesTheFileThatIsNone) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("image.png", "text");
  EXPECT_THAT(std::string(ReadImage(path).status().message()),
              HasSubstr("image.png: it is neither"));
}

TEST(SmallestRectangle, LiesOnASideOfTheHull) {
  const Rectangle rectangle = SmallestRectangle({{3, 4}, {9, 6}, {8, 9}, {2, 7}, {5, 7}});
  EXPECT_NEAR(rectangle.shorter_side, std::sqrt(10), 1e-9);
  const std::vector<Pair> expected = {{3, 4}, {9, 6}, {8, 9}, {2, 7}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(rectangle.corners[i].x, expected[i].first, 1e-9);
    EXPECT_NEAR(rectangle.corners[i].y, expected[i].second, 1e-9);
  }
}

TEST(SmallestRectangle, OfOnePointOrALineHasNoArea) {
  EXPECT_EQ(SmallestRectangle({{2, 3}}).shorter_side, 0);
  EXPECT_EQ(SmallestRectangle({{2, 3}, {4, 5}, {3, 4}}).shorter_side, 0);
}

TEST(Grown, HasTheCornersThatClipperGives) {
  const std::vector<Point> box = {{10, 10}, {40, 20}, {38, 26}, {8, 16}};
  const std::vector<Point> grown = Grown(box, Area(box) * 1.5 / Perimeter(box));
  const std::vector<Point> expected = {{41, 16}, {43, 18}, {44, 21}, {42, 27}, {40, 29}, {37, 30},
                                       {7, 20},  {5, 18},  {4, 15},  {6, 9},   {8, 7},   {11, 6}};
  EXPECT_THAT(PairsOf(grown), testing::UnorderedElementsAreArray(PairsOf(expected)));
}

TEST(FindRegions, SeesCornersAndHoles) {
  // A ring, and a pixel that touches it at a corner.
  const std::vector<bool> bits = {true,  true,  true,  false,  //
                                  true,  false, true,  false,  //
                                  true,  true,  true,  false,  //
                                  false, false, false, true};
  const std::vector<std::vector<Point>> regions = FindRegions(bits, 4, 4);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].size(), 9u);
  EXPECT_THAT(PairsOf(regions[1]),
              testing::UnorderedElementsAre(Pair(1, 0), Pair(0, 1), Pair(2, 1), Pair(1, 2)));
}

// Three lines, one of them turned; one that is too thin, and one that is not likely.
std::vector<float> MapOfLines() {
  std::vector<float> map(64 * 96);
  const auto fill = [&map](int top, int bottom, int left, int right, float value) {
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) map[static_cast<size_t>(y * 96 + x)] = value;
    }
  };
  fill(10, 16, 8, 40, 0.9f);
  fill(12, 17, 55, 90, 0.7f);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 96; ++x) {
      const double u = (x - 48) * 0.96 + (y - 42) * 0.28;
      const double v = -(x - 48) * 0.28 + (y - 42) * 0.96;
      if (std::abs(u) < 25 && std::abs(v) < 4) map[static_cast<size_t>(y * 96 + x)] = 0.8f;
    }
  }
  fill(60, 62, 5, 60, 0.9f);
  fill(50, 58, 80, 92, 0.4f);
  return map;
}

TEST(FindTextBoxes, FindsTheBoxesOfTheReference) {
  const std::vector<float> map = MapOfLines();
  const std::vector<Corners> boxes = FindTextBoxes({64, 96, map}, 128, 192);
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_THAT(PairsOf(boxes[0]),
              ElementsAre(Pair(10, 14), Pair(84, 14), Pair(84, 36), Pair(10, 36)));
  EXPECT_THAT(PairsOf(boxes[1]),
              ElementsAre(Pair(104, 18), Pair(184, 18), Pair(184, 38), Pair(104, 38)));
  EXPECT_THAT(PairsOf(boxes[2]),
              ElementsAre(Pair(43, 49), Pair(157, 83), Pair(147, 117), Pair(33, 83)));
}

TEST(FindTextBoxes, TakesAsManyRegionsAsItMay) {
  const std::vector<float> map = MapOfLines();
  BoxOptions options;
  options.most_regions = 1;
  EXPECT_EQ(FindTextBoxes({64, 96, map}, 128, 192, options).size(), 1u);
}

TEST(FindTextBoxes, ScoresBoxesAsOpenCvFillsThem) {
  // 0.9, 0.7456 of the turned one, and 0.7.
  const std::vector<float> map = MapOfLines();
  BoxOptions options;
  options.least_score = 0.745;
  EXPECT_EQ(FindTextBoxes({64, 96, map}, 128, 192, options).size(), 2u);
  options.least_score = 0.746;
  EXPECT_EQ(FindTextBoxes({64, 96, map}, 128, 192, options).size(), 1u);
}

// OpenCV's weights are rounded to 15 bits, ours are exact: one unit.
TEST(Cropped, IsWithinOneOfOpenCv) {
  Image image(20, 30);
  for (int64_t y = 0; y < 20; ++y) {
    for (int64_t x = 0; x < 30; ++x)
      image.At(y, x)[0] = static_cast<uint8_t>((y * 7 + x * 5) % 256);
  }
  const std::optional<Image> crop = Cropped(image, {{{5, 4}, {13, 6}, {12, 10}, {4, 8}}});
  ASSERT_TRUE(crop.has_value());
  ASSERT_EQ(crop->height, 4);
  ASSERT_EQ(crop->width, 8);
  const std::vector<int> expected = {53,  60,  67, 73, 80,  87, 94, 100, 59,  66, 72,
                                     78,  86,  93, 99, 105, 65, 72, 78,  84,  92, 99,
                                     105, 111, 70, 78, 84,  90, 97, 105, 111, 117};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(std::abs(crop->values[i * 3] - expected[i]), 1) << i;
  }
}

TEST(Cropped, LaysHighBoxesDown) {
  const std::optional<Image> crop = Cropped(Image(20, 20), {{{2, 2}, {6, 2}, {6, 10}, {2, 10}}});
  ASSERT_TRUE(crop.has_value());
  EXPECT_EQ(crop->width, 8);
  EXPECT_FALSE(Cropped(Image(20, 20), {{{2, 2}, {2, 2}, {2, 2}, {2, 2}}}).has_value());
  EXPECT_FALSE(Cropped(Image(20, 20), {{{2, 2}, {6, 2}, {9, 2}, {4, 2}}}).has_value());
}

TEST(DetectionInput, HasSidesOfWholeStrides) {
  const auto dims = [](int64_t height, int64_t width, int64_t longest) {
    return DetectionInput(Image(height, width), longest).value().dims();
  };
  EXPECT_THAT(dims(100, 200, 960), ElementsAre(1, 3, 96, 192));
  EXPECT_THAT(dims(1000, 2000, 960), ElementsAre(1, 3, 480, 960));
  // 1.5 strides, half to even.
  EXPECT_THAT(dims(48, 80, 960), ElementsAre(1, 3, 64, 64));
  EXPECT_THAT(dims(10, 20, 960), ElementsAre(1, 3, 32, 32));
}

TEST(LinesInput, PadsWithZeros) {
  Image line(2, 3);
  line.values.assign(line.values.size(), 255);
  const absl::StatusOr<Tensor> input = LinesInput({&line}, 4, 8);
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_THAT(input->data<float>().subspan(0, 8), ElementsAre(1, 1, 1, 1, 1, 1, 0, 0));
}

std::vector<float> Scores(const std::vector<std::vector<float>>& steps) {
  std::vector<float> scores;
  for (const std::vector<float>& step : steps)
    scores.insert(scores.end(), step.begin(), step.end());
  return scores;
}

TEST(Characters, LeavesOutBlanksAndRepetitions) {
  const Characters characters({"A", "B"});
  const std::vector<float> scores = Scores({{0.1f, 0.8f, 0.1f},
                                            {0.1f, 0.6f, 0.3f},
                                            {0.9f, 0, 0.1f},
                                            {0.5f, 0.5f, 0},
                                            {0.1f, 0.7f, 0.2f},
                                            {0, 0.1f, 0.9f}});
  const absl::StatusOr<ReadText> read = characters.Read(scores, 3);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->text, "AAB");
  EXPECT_NEAR(read->score, (0.8 + 0.7 + 0.9) / 3, 1e-6);
}

TEST(Characters, MayHaveTheSpaceAsTheLastClass) {
  const absl::StatusOr<ReadText> read =
      Characters({"A", "B"}).Read(Scores({{0, 1, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}}), 4);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->text, "A B");
}

TEST(Characters, RefuseAnotherNumberOfClasses) {
  EXPECT_THAT(std::string(Characters({"A", "B"}).Read({}, 5).status().message()),
              HasSubstr("the network has 5 classes, and the dictionary 2 characters"));
}

}  // namespace
}  // namespace ocr
}  // namespace fixpoint
