#include "examples/ocr/crop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace fixpoint {
namespace ocr {
namespace {

constexpr int64_t kParts = 32;  // of a pixel
constexpr double kCubic = -0.75;
constexpr int64_t kTaps = 4;
// So far outside of an image all is as its edge.
constexpr double kFarAway = 1 << 20;

// Takes the unit square's corners to four points (Heckbert, "Fundamentals of texture mapping and
// image warping", 1989).
class Perspective {
 public:
  explicit Perspective(const Corners& to) {
    const auto& [p0, p1, p2, p3] = to;
    const Point one = {p1.x - p2.x, p1.y - p2.y};
    const Point two = {p3.x - p2.x, p3.y - p2.y};
    const Point sum = {p0.x - p1.x + p2.x - p3.x, p0.y - p1.y + p2.y - p3.y};
    const double area = one.x * two.y - two.x * one.y;
    is_valid_ = area != 0;
    if (!is_valid_) return;
    g_ = (sum.x * two.y - two.x * sum.y) / area;
    h_ = (one.x * sum.y - sum.x * one.y) / area;
    x_ = {p1.x - p0.x + g_ * p1.x, p3.x - p0.x + h_ * p3.x, p0.x};
    y_ = {p1.y - p0.y + g_ * p1.y, p3.y - p0.y + h_ * p3.y, p0.y};
  }

  bool is_valid() const { return is_valid_; }

  Point At(double u, double v) const {
    const double scale = g_ * u + h_ * v + 1;
    if (scale == 0) return {0, 0};
    return {(x_[0] * u + x_[1] * v + x_[2]) / scale, (y_[0] * u + y_[1] * v + y_[2]) / scale};
  }

 private:
  bool is_valid_ = false;
  double g_ = 0;
  double h_ = 0;
  std::array<double, 3> x_ = {};
  std::array<double, 3> y_ = {};
};

// The pixels that a place lies between, and their weights. Weights are multiples of 2^-17, so that
// sums of them times bytes are exact in any order.
struct Taps {
  explicit Taps(double place, int64_t size) {
    const auto parts = static_cast<int64_t>(
        std::nearbyint(std::clamp(place, -kFarAway, kFarAway) * static_cast<double>(kParts)));
    const int64_t whole = parts >> 5;
    const double x = static_cast<double>(parts - whole * kParts) / static_cast<double>(kParts);
    const auto near = [](double d) { return ((kCubic + 2) * d - (kCubic + 3)) * d * d + 1; };
    const auto far = [](double d) {
      return ((kCubic * d - 5 * kCubic) * d + 8 * kCubic) * d - 4 * kCubic;
    };
    weights = {far(1 + x), near(x), near(1 - x), far(2 - x)};
    for (int64_t i = 0; i < kTaps; ++i) {
      pixels[static_cast<size_t>(i)] = std::clamp<int64_t>(whole - 1 + i, 0, size - 1);
    }
  }

  std::array<int64_t, kTaps> pixels;
  std::array<double, kTaps> weights;
};

void Interpolate(const Image& image, Point place, uint8_t* colors) {
  const Taps rows(place.y, image.height);
  const Taps columns(place.x, image.width);
  std::array<double, kColors> sums = {};
  for (size_t i = 0; i < kTaps; ++i) {
    for (size_t j = 0; j < kTaps; ++j) {
      const uint8_t* const pixel = image.At(rows.pixels[i], columns.pixels[j]);
      const double weight = rows.weights[i] * columns.weights[j];
      for (size_t color = 0; color < kColors; ++color) sums[color] += weight * pixel[color];
    }
  }
  for (size_t color = 0; color < kColors; ++color) {
    colors[color] = static_cast<uint8_t>(std::clamp(std::nearbyint(sums[color]), 0.0, 255.0));
  }
}

}  // namespace

std::optional<Image> Cropped(const Image& image, const Corners& box) {
  const Perspective perspective(box);
  const auto width =
      static_cast<int64_t>(std::max(Distance(box[0], box[1]), Distance(box[2], box[3])));
  const auto height =
      static_cast<int64_t>(std::max(Distance(box[0], box[3]), Distance(box[1], box[2])));
  if (!perspective.is_valid() || width < 1 || height < 1) return std::nullopt;
  Image crop(height, width);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const Point place = perspective.At(static_cast<double>(x) / static_cast<double>(width),
                                         static_cast<double>(y) / static_cast<double>(height));
      Interpolate(image, place, crop.At(y, x));
    }
  }
  return 2 * height >= 3 * width ? QuarterTurned(crop) : crop;
}

}  // namespace ocr
}  // namespace fixpoint
