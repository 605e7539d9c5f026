#include "examples/ocr/drawn_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "examples/ocr/dice.h"
#include "examples/ocr/font.h"

namespace fixpoint {
namespace ocr {
namespace {

constexpr double kDegree = 3.14159265358979323846 / 180;
constexpr int kAdvance = kGlyphWidth + 1;  // cells from one glyph to the next
constexpr double kLineHeight = kGlyphHeight + 2 * kMargin;
// Of a cell, in pixels.
constexpr double kLeastCell = 2;
constexpr double kMostCell = 3.2;
constexpr int kSubpixels = 2;  // in each direction

using Color = std::array<double, kColors>;

double LineWidth(size_t glyphs) { return static_cast<double>(glyphs) * kAdvance - 1 + 2 * kMargin; }

// A line before the page is turned: where its box begins, and how large a cell is.
struct Place {
  Point top_left;
  double cell;
};

// A turn around the middle of the page.
struct Turn {
  Point middle;
  double cosine;
  double sine;

  Point Of(Point point) const {
    const double x = point.x - middle.x;
    const double y = point.y - middle.y;
    return {middle.x + x * cosine - y * sine, middle.y + x * sine + y * cosine};
  }
  Point Back(Point point) const { return Turn{middle, cosine, -sine}.Of(point); }
};

bool IsSet(const DrawnLine& line, double row, double column) {
  if (row < 0 || column < 0) return false;
  const auto whole_row = static_cast<int>(row);
  const auto whole_column = static_cast<int>(column);
  const auto glyph = static_cast<size_t>(whole_column / kAdvance);
  const int in_glyph = whole_column % kAdvance;
  if (whole_row >= kGlyphHeight || glyph >= line.glyphs.size() || in_glyph >= kGlyphWidth) {
    return false;
  }
  return kFont[static_cast<size_t>(line.glyphs[glyph])].IsSet(whole_row, in_glyph);
}

class Painter {
 public:
  Painter(uint64_t seed, const PageOptions& options)
      : dice_(seed), options_(options), is_dark_(dice_.Chance(0.3)) {
    page_.image = Image(options.height, options.width);
    const double degrees = dice_.Within(-options.most_degrees, options.most_degrees) +
                           (dice_.Chance(options.upside_down) ? 180 : 0);
    turn_ = {{static_cast<double>(options.width) / 2, static_cast<double>(options.height) / 2},
             std::cos(degrees * kDegree),
             std::sin(degrees * kDegree)};
  }

  DrawnPage Paint() {
    PaintGround();
    // What a turn moves a corner by.
    const double edge = 2 + std::sin(options_.most_degrees * kDegree) *
                                static_cast<double>(std::max(options_.width, options_.height)) / 2;
    double top = edge + dice_.Within(0, 6);
    const int64_t lines = dice_.Whole((options_.most_lines + 1) / 2, options_.most_lines);
    for (int64_t i = 0; i < lines; ++i) {
      const double cell = dice_.Within(kLeastCell, kMostCell);
      const double room = static_cast<double>(options_.width) - 2 * edge;
      const auto fit = static_cast<int64_t>((room / cell + 1 - 2 * kMargin) / kAdvance);
      const int64_t most = std::min(fit, options_.most_characters);
      if (most < 2 || top + kLineHeight * cell > static_cast<double>(options_.height) - edge) break;
      DrawnLine line;
      line.glyphs.resize(static_cast<size_t>(dice_.Whole(2, most)));
      for (int& glyph : line.glyphs) {
        glyph = static_cast<int>(dice_.Whole(0, static_cast<int64_t>(kFont.size()) - 1));
      }
      const double width = LineWidth(line.glyphs.size()) * cell;
      PaintLine({{edge + dice_.Within(0, room - width), top}, cell}, std::move(line));
      top += kLineHeight * cell + dice_.Within(3, 12);
    }
    AddNoise();
    return std::move(page_);
  }

 private:
  Color AnyColor(bool is_dark) {
    Color color;
    for (double& value : color) value = is_dark ? dice_.Within(0, 90) : dice_.Within(150, 250);
    return color;
  }

  void PaintGround() {
    const Color from = AnyColor(is_dark_);
    const double change = dice_.Within(-20, 20);
    ground_.resize(page_.image.values.size());
    for (int64_t y = 0; y < options_.height; ++y) {
      for (int64_t x = 0; x < options_.width; ++x) {
        const double place =
            static_cast<double>(x + y) / static_cast<double>(options_.width + options_.height);
        for (size_t color = 0; color < kColors; ++color) {
          ground_[IndexOf(y, x) + color] = from[color] + change * place;
        }
      }
    }
  }

  size_t IndexOf(int64_t y, int64_t x) const {
    return static_cast<size_t>((y * options_.width + x) * kColors);
  }

  void PaintLine(const Place& place, DrawnLine line) {
    const Color ink = AnyColor(!is_dark_);
    const double right = place.top_left.x + LineWidth(line.glyphs.size()) * place.cell;
    const double bottom = place.top_left.y + kLineHeight * place.cell;
    line.box = {turn_.Of(place.top_left), turn_.Of({right, place.top_left.y}),
                turn_.Of({right, bottom}), turn_.Of({place.top_left.x, bottom})};
    const auto [left_x, right_x] =
        std::minmax({line.box[0].x, line.box[1].x, line.box[2].x, line.box[3].x});
    const auto [top_y, bottom_y] =
        std::minmax({line.box[0].y, line.box[1].y, line.box[2].y, line.box[3].y});
    const auto within = [](double at, int64_t size) {
      return std::clamp<int64_t>(static_cast<int64_t>(at), 0, size - 1);
    };
    for (int64_t y = within(top_y, options_.height); y <= within(bottom_y, options_.height); ++y) {
      for (int64_t x = within(left_x, options_.width); x <= within(right_x, options_.width); ++x) {
        const double share = InkAt(y, x, place, line);
        for (size_t color = 0; color < kColors; ++color) {
          double& value = ground_[IndexOf(y, x) + color];
          value += share * (ink[color] - value);
        }
      }
    }
    page_.lines.push_back(std::move(line));
  }

  // The share of a pixel that glyphs cover.
  double InkAt(int64_t y, int64_t x, const Place& place, const DrawnLine& line) const {
    int set = 0;
    for (int i = 0; i < kSubpixels * kSubpixels; ++i) {
      const Point point = turn_.Back(
          {static_cast<double>(x) + (i % kSubpixels + 0.5) / kSubpixels,
           static_cast<double>(y) + (static_cast<double>(i / kSubpixels) + 0.5) / kSubpixels});
      if (IsSet(line, (point.y - place.top_left.y) / place.cell - kMargin,
                (point.x - place.top_left.x) / place.cell - kMargin)) {
        ++set;
      }
    }
    return static_cast<double>(set) / (kSubpixels * kSubpixels);
  }

  void AddNoise() {
    const double most = dice_.Within(0, 20);
    for (size_t i = 0; i < ground_.size(); i += kColors) {
      const std::array<double, kColors> noise = dice_.Noise();
      for (size_t color = 0; color < kColors; ++color) {
        const double value = std::nearbyint(ground_[i + color] + most * noise[color]);
        page_.image.values[i + color] = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
      }
    }
  }

  Dice dice_;
  const PageOptions options_;
  const bool is_dark_;
  Turn turn_;
  DrawnPage page_;
  std::vector<double> ground_;
};

}  // namespace

DrawnPage DrawPage(uint64_t seed, const PageOptions& options) {
  return Painter(seed, options).Paint();
}

DrawnPage DrawPageToRead(int number) {
  constexpr uint64_t kFirstSeed = uint64_t{1} << 62;
  PageOptions options;
  const bool is_upside_down = number % 5 == 4;
  options.upside_down = is_upside_down ? 1 : 0;
  DrawnPage page = DrawPage(kFirstSeed + static_cast<uint64_t>(number), options);
  if (is_upside_down) std::reverse(page.lines.begin(), page.lines.end());
  return page;
}

std::string TextOf(const DrawnLine& line) {
  std::string text;
  for (const int glyph : line.glyphs) text += kFont[static_cast<size_t>(glyph)].character;
  return text;
}

}  // namespace ocr
}  // namespace fixpoint
