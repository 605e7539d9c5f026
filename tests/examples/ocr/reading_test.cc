// Networks that were trained on drawn text read ten drawn pages: in float nearly all of it, and on
// integers nearly the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/ocr/drawn_page.h"
#include "examples/ocr/geometry.h"
#include "examples/ocr/image.h"
#include "examples/ocr/networks.h"
#include "examples/ocr/text_reader.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace ocr {
namespace {

using testing::HasSubstr;

constexpr char kOcr[] = "examples/ocr/ocr";
constexpr char kTrain[] = "examples/ocr/train_ocr";
constexpr char kTrained[] = "examples/ocr/trained/";
constexpr char kQuantize[] = "tools/quantize";

// How many characters have to be put in, taken out or replaced.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The part of a convex polygon that lies in another one (Sutherland and Hodgman, 1974).
std::vector<Point> Intersection(std::vector<Point> polygon, const Corners& with) {
  for (size_t i = 0; i < with.size(); ++i) {
    const Point from = with[i];
    const Point to = with[(i + 1) % with.size()];
    const auto side = [&](Point point) {
      return (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x);
    };
    std::vector<Point> cut;
    for (size_t j = 0; j < polygon.size(); ++j) {
      const Point a = polygon[j];
      const Point b = polygon[(j + 1) % polygon.size()];
      if (side(a) >= 0) cut.push_back(a);
      if ((side(a) >= 0) != (side(b) >= 0)) {
        const double share = side(a) / (side(a) - side(b));
        cut.push_back({a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)});
      }
    }
    polygon = std::move(cut);
  }
  return polygon;
}

// The area of what two boxes share, by that of both together.
double Overlap(const Corners& a, const Corners& b) {
  const double shared = Area(Intersection({a.begin(), a.end()}, b));
  return shared / (Area({a.begin(), a.end()}) + Area({b.begin(), b.end()}) - shared);
}

using Lines = std::vector<TextLine>;

// The line that overlaps most with a box; none by half.
const TextLine* At(const Lines& lines, const Corners& box) {
  const TextLine* best = nullptr;
  double most = 0.5;
  for (const TextLine& line : lines) {
    const double overlap = Overlap(line.box, box);
    if (overlap > most) {
      most = overlap;
      best = &line;
    }
  }
  return best;
}

class Reading : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    std::vector<std::string> arguments = Flags();
    arguments.push_back("--save_inputs=" + folder_->Path());
    for (int i = 0; i < kPagesToRead; ++i) {
      ASSERT_TRUE(WritePng(DrawPageToRead(i).image, PagePath(i)).ok());
      arguments.push_back(PagePath(i));
    }
    const BinaryRun read = RunBinary(kOcr, arguments);
    ASSERT_EQ(read.exit_code, 0) << read.err;
    told_ = read.out;
    for (const char* name : {"detection", "direction", "recognition"}) {
      const std::string network = absl::StrCat(kTrained, name, "/inference");
      const BinaryRun quantized =
          RunBinary(kQuantize, {network + ".pdmodel", "--params=" + network + ".pdiparams",
                                "--data=npz:" + folder_->Path(absl::StrCat(name, ".npz")),
                                "--output=" + folder_->Path(absl::StrCat(name, ".int8")),
                                "--batch_size=6", "--notimes"});
      ASSERT_EQ(quantized.exit_code, 0) << quantized.err;
    }
  }
  static void TearDownTestSuite() { folder_ = nullptr; }

  static std::string PagePath(int number) { return folder_->Path(absl::StrCat(number, ".png")); }

  static std::vector<std::string> Flags() {
    const std::string folder = kTrained;
    return {"--det=" + folder + "detection", "--cls=" + folder + "direction",
            "--rec=" + folder + "recognition", "--dictionary=" + folder + "dictionary.txt"};
  }

  // What the networks <folder><stage><form> read on each page.
  static std::vector<Lines> ReadPages(const std::string& folder, const std::string& form = "") {
    ReadOptions options;
    options.detection = folder + "detection" + form;
    options.direction = folder + "direction" + form;
    options.recognition = folder + "recognition" + form;
    options.dictionary = absl::StrCat(kTrained, "dictionary.txt");
    const auto reader = TextReader::Load(options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    std::vector<Lines> pages;
    for (int i = 0; i < kPagesToRead && reader.ok(); ++i) {
      absl::StatusOr<Lines> lines = (*reader)->Read(DrawPageToRead(i).image);
      EXPECT_TRUE(lines.ok()) << lines.status();
      if (lines.ok()) pages.push_back(*std::move(lines));
    }
    return pages;
  }

  static std::unique_ptr<TemporaryFolder> folder_;
  static std::string told_;
};

std::unique_ptr<TemporaryFolder> Reading::folder_;
std::string Reading::told_;

TEST_F(Reading, FindsAndReadsWhatIsDrawn) {
  const std::vector<Lines> pages = ReadPages(kTrained);
  ASSERT_EQ(pages.size(), static_cast<size_t>(kPagesToRead));
  size_t drawn = 0;
  size_t found = 0;
  size_t read = 0;
  size_t characters = 0;
  size_t wrong = 0;
  for (int i = 0; i < kPagesToRead; ++i) {
    const Lines& lines = pages[static_cast<size_t>(i)];
    read += lines.size();
    for (const DrawnLine& line : DrawPageToRead(i).lines) {
      const std::string text = TextOf(line);
      const TextLine* const at = At(lines, line.box);
      ++drawn;
      characters += text.size();
      wrong += at == nullptr ? text.size() : EditDistance(at->read.text, text);
      if (at != nullptr) ++found;
    }
  }
  absl::PrintF("%d of %d drawn lines are found, and %d that are none; %d of %d characters wrong\n",
               found, drawn, read - found, wrong, characters);
  EXPECT_GE(drawn, 20u);
  EXPECT_GE(found * 10, drawn * 9);
  EXPECT_EQ(read, found);
  EXPECT_LE(wrong * 5, characters);
}

TEST_F(Reading, OnIntegersIsNearlyTheSame) {
  const std::vector<Lines> in_float = ReadPages(kTrained);
  const std::vector<Lines> on_integers = ReadPages(folder_->Path() + "/", ".int8/lowered");
  ASSERT_EQ(in_float.size(), on_integers.size());
  size_t lines = 0;
  size_t same_boxes = 0;
  size_t missing = 0;
  size_t characters = 0;
  size_t different = 0;
  double least_overlap = 1;
  double overlap = 0;
  for (size_t page = 0; page < in_float.size(); ++page) {
    for (const TextLine& line : in_float[page]) {
      const TextLine* const other = At(on_integers[page], line.box);
      ++lines;
      characters += line.read.text.size();
      different +=
          other == nullptr ? line.read.text.size() : EditDistance(other->read.text, line.read.text);
      const double shared = other == nullptr ? 0 : Overlap(line.box, other->box);
      if (other == nullptr) ++missing;
      if (shared == 1) ++same_boxes;
      if (other != nullptr) least_overlap = std::min(least_overlap, shared);
      overlap += shared;
    }
  }
  absl::PrintF(
      "on integers %d of %d lines have the same box and %d are missing; overlap %.3f in the mean, "
      "at least %.3f; %d of %d characters differ\n",
      same_boxes, lines, missing, overlap / static_cast<double>(lines), least_overlap, different,
      characters);
  EXPECT_LE(missing, 1u);
  EXPECT_GE(least_overlap, 0.8);
  EXPECT_LE(different * 20, characters);
}

TEST_F(Reading, PortableAndLoweredAreTheSame) {
  const std::vector<Lines> portable = ReadPages(folder_->Path() + "/", ".int8/portable");
  const std::vector<Lines> lowered = ReadPages(folder_->Path() + "/", ".int8/lowered");
  ASSERT_EQ(portable.size(), lowered.size());
  for (size_t page = 0; page < portable.size(); ++page) {
    ASSERT_EQ(portable[page].size(), lowered[page].size()) << page;
    for (size_t i = 0; i < portable[page].size(); ++i) {
      const TextLine& a = portable[page][i];
      const TextLine& b = lowered[page][i];
      EXPECT_EQ(Overlap(a.box, b.box), 1);
      EXPECT_EQ(a.read.text, b.read.text);
      EXPECT_EQ(a.read.score, b.read.score);
    }
  }
}

TEST_F(Reading, IsToldByTheTool) {
  std::string expected;
  const std::vector<Lines> pages = ReadPages(kTrained);
  for (size_t page = 0; page < pages.size(); ++page) {
    EXPECT_THAT(told_, HasSubstr(absl::StrCat(page, ".png: ", pages[page].size(), " lines\n")));
    for (const TextLine& line : pages[page]) {
      EXPECT_THAT(told_, HasSubstr(absl::StrFormat("%g,%g ", line.box[0].x, line.box[0].y)));
      EXPECT_THAT(told_, HasSubstr(absl::StrCat(" ", line.read.text, "\n")));
    }
  }
}

TEST_F(Reading, RefusesWhatDoesNotFit) {
  const auto error = [](const std::vector<std::string>& arguments) {
    const BinaryRun run = RunBinary(kOcr, arguments);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_LT(run.exit_code, 70);
    return run.err;
  };
  EXPECT_THAT(error({PagePath(0)}), HasSubstr("--det is missing"));
  std::vector<std::string> arguments = Flags();
  arguments.push_back(folder_->Write("dictionary.txt", "A\n"));
  EXPECT_THAT(error(arguments), HasSubstr("dictionary.txt: it is neither a JPEG nor a PNG"));
  arguments.back() = PagePath(0);
  arguments[3] = "--dictionary=" + folder_->Write("short.txt", "A\nB\n");
  EXPECT_THAT(error(arguments), HasSubstr("the dictionary 2 characters"));
  arguments = Flags();
  arguments[0] = absl::StrCat("--det=", kTrained, "recognition");
  arguments.push_back(PagePath(0));
  EXPECT_THAT(error(arguments),
              testing::AnyOf(HasSubstr("want floats of one channel"), HasSubstr("recognition")));
}

// Few steps, after which the networks run.
TEST(Training, WritesNetworks) {
  const TemporaryFolder folder;
  const BinaryRun trained = RunBinary(kTrain, {"--steps=2", folder.Path()});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  ReadOptions options;
  options.detection = folder.Path("detection");
  options.direction = folder.Path("direction");
  options.recognition = folder.Path("recognition");
  options.dictionary = folder.Path("dictionary.txt");
  options.boxes.least_score = 0;
  options.least_score = 0;
  const auto reader = TextReader::Load(options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const absl::StatusOr<Lines> lines = (*reader)->Read(DrawPageToRead(0).image);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_FALSE(lines->empty());
}

TEST(Training, Learns) {
  std::vector<double> losses;
  const auto keep = [&losses](int64_t, double loss) { losses.push_back(loss); };
  ASSERT_TRUE(TrainNetwork(DetectionPlan(), keep).ok());
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_LT(losses.back(), 0.03);
}

}  // namespace
}  // namespace ocr
}  // namespace fixpoint
