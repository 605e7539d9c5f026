#include "examples/ocr/regions.h"

#include <array>
#include <cstddef>
#include <utility>

namespace fixpoint {
namespace ocr {
namespace {

using Step = std::pair<int64_t, int64_t>;
// Sides first, then corners.
constexpr std::array<Step, 8> kSteps = {
    {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}}};
constexpr size_t kSides = 4;

class Finder {
 public:
  Finder(const std::vector<bool>& bits, int64_t height, int64_t width)
      : bits_(bits), height_(height), width_(width), seen_(bits.size()) {}

  std::vector<std::vector<Point>> Find() {
    std::vector<std::vector<Point>> regions;
    for (int64_t i = 0; i < height_ * width_; ++i) {
      if (seen_[static_cast<size_t>(i)]) continue;
      const bool is_set = bits_[static_cast<size_t>(i)];
      bool touches_edge = false;
      std::vector<Point> border = Follow(i, &touches_edge);
      if (is_set || !touches_edge) regions.push_back(std::move(border));
    }
    return regions;
  }

 private:
  bool IsInside(int64_t y, int64_t x) const {
    return 0 <= y && y < height_ && 0 <= x && x < width_;
  }
  size_t IndexOf(int64_t y, int64_t x) const { return static_cast<size_t>(y * width_ + x); }

  // Goes through the pixels that are connected with the first one and are like it: set ones through
  // sides and corners, others through sides. Returns the set pixels at its border.
  std::vector<Point> Follow(int64_t first, bool* touches_edge) {
    const bool is_set = bits_[static_cast<size_t>(first)];
    std::vector<Point> border;
    std::vector<int64_t> open = {first};
    seen_[static_cast<size_t>(first)] = true;
    while (!open.empty()) {
      const int64_t y = open.back() / width_;
      const int64_t x = open.back() % width_;
      open.pop_back();
      bool is_at_border = false;
      for (size_t i = 0; i < (is_set ? kSteps.size() : kSides); ++i) {
        const int64_t next_y = y + kSteps[i].first;
        const int64_t next_x = x + kSteps[i].second;
        if (!IsInside(next_y, next_x)) {
          *touches_edge = true;
          is_at_border = true;
          continue;
        }
        const size_t next = IndexOf(next_y, next_x);
        if (bits_[next] != is_set) {
          is_at_border = true;
          if (!is_set) border.push_back({static_cast<double>(next_x), static_cast<double>(next_y)});
        } else if (!seen_[next]) {
          seen_[next] = true;
          open.push_back(static_cast<int64_t>(next));
        }
      }
      if (is_set && is_at_border) {
        border.push_back({static_cast<double>(x), static_cast<double>(y)});
      }
    }
    return border;
  }

  const std::vector<bool>& bits_;
  const int64_t height_;
  const int64_t width_;
  std::vector<bool> seen_;
};

}  // namespace

std::vector<std::vector<Point>> FindRegions(const std::vector<bool>& bits, int64_t height,
                                            int64_t width) {
  return Finder(bits, height, width).Find();
}

}  // namespace ocr
}  // namespace fixpoint
