#include <algorithm>
#include <cmath>

#include "examples/ocr/image.h"

namespace fixpoint {
namespace ocr {
namespace {

constexpr int kOne = 1 << 11;

// The two places that a place of the result lies between, and their weights, which are kOne
// together.
struct Between {
  int64_t before;
  int64_t after;
  int weight_before;
  int weight_after;
};

std::vector<Between> BetweenPlaces(int64_t size, int64_t result_size) {
  const double step = static_cast<double>(size) / static_cast<double>(result_size);
  std::vector<Between> places;
  for (int64_t i = 0; i < result_size; ++i) {
    const auto place = static_cast<float>((static_cast<double>(i) + 0.5) * step - 0.5);
    auto before = static_cast<int64_t>(std::floor(place));
    float rest = place - static_cast<float>(before);
    if (before < 0 || before >= size - 1) {
      before = std::clamp<int64_t>(before, 0, size - 1);
      rest = 0;
    }
    places.push_back({before, std::min(before + 1, size - 1),
                      static_cast<int>(std::nearbyint((1 - rest) * kOne)),
                      static_cast<int>(std::nearbyint(rest * kOne))});
  }
  return places;
}

}  // namespace

Image Resized(const Image& image, int64_t height, int64_t width) {
  if (image.height == height && image.width == width) return image;
  const std::vector<Between> rows = BetweenPlaces(image.height, height);
  const std::vector<Between> columns = BetweenPlaces(image.width, width);
  Image resized(height, width);
  for (int64_t y = 0; y < height; ++y) {
    const Between& row = rows[static_cast<size_t>(y)];
    for (int64_t x = 0; x < width; ++x) {
      const Between& column = columns[static_cast<size_t>(x)];
      for (int64_t color = 0; color < kColors; ++color) {
        const auto line = [&](int64_t at) {
          return (image.At(at, column.before)[color] * column.weight_before +
                  image.At(at, column.after)[color] * column.weight_after) >>
                 4;
        };
        const int sum = ((row.weight_before * line(row.before)) >> 16) +
                        ((row.weight_after * line(row.after)) >> 16);
        resized.At(y, x)[color] = static_cast<uint8_t>((sum + 2) >> 2);
      }
    }
  }
  return resized;
}

}  // namespace ocr
}  // namespace fixpoint
