#include "examples/ocr/text_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "examples/ocr/regions.h"

namespace fixpoint {
namespace ocr {
namespace {

// In pixels, as the reference has them: of a region, and of its grown box.
constexpr double kLeastSide = 3;
constexpr double kLeastGrownSide = kLeastSide + 2;
constexpr int64_t kMostOfNoBox = 3;
// Boxes whose tops differ by less are in one line.
constexpr double kOneLine = 10;

int64_t Whole(double value) { return static_cast<int64_t>(value); }

// The mean probability of the pixels that OpenCV fills for a polygon whose corners are cut to
// integers: those in it, and those of lines along its sides, which are up to half a pixel outside.
double MeanInside(const ProbabilityMap& map, const Corners& corners) {
  const auto by_x = [](Point a, Point b) { return a.x < b.x; };
  const auto by_y = [](Point a, Point b) { return a.y < b.y; };
  const auto xs = std::minmax_element(corners.begin(), corners.end(), by_x);
  const auto ys = std::minmax_element(corners.begin(), corners.end(), by_y);
  const auto within = [](double value, int64_t size) {
    return std::clamp<int64_t>(Whole(value), 0, size - 1);
  };
  const int64_t left = within(std::floor(xs.first->x), map.width);
  const int64_t right = within(std::ceil(xs.second->x), map.width);
  const int64_t top = within(std::floor(ys.first->y), map.height);
  const int64_t bottom = within(std::ceil(ys.second->y), map.height);
  std::vector<Point> cut;
  for (const Point& corner : corners) {
    cut.push_back({std::trunc(corner.x - static_cast<double>(left)),
                   std::trunc(corner.y - static_cast<double>(top))});
  }
  const std::vector<Point> hull = ConvexHull(cut);
  const auto hull_xs = std::minmax_element(hull.begin(), hull.end(), by_x);
  const auto hull_ys = std::minmax_element(hull.begin(), hull.end(), by_y);
  double sum = 0;
  int64_t count = 0;
  for (int64_t y = 0; y <= bottom - top; ++y) {
    for (int64_t x = 0; x <= right - left; ++x) {
      const Point pixel = {static_cast<double>(x), static_cast<double>(y)};
      bool is_inside = hull_xs.first->x <= pixel.x && pixel.x <= hull_xs.second->x &&
                       hull_ys.first->y <= pixel.y && pixel.y <= hull_ys.second->y;
      for (size_t i = 0; i < hull.size() && is_inside; ++i) {
        const Point& from = hull[i];
        const Point& to = hull[(i + 1) % hull.size()];
        const double right = to.x - from.x;
        const double down = to.y - from.y;
        is_inside = right * (pixel.y - from.y) - down * (pixel.x - from.x) >=
                    -std::max(std::abs(right), std::abs(down)) / 2;
      }
      if (!is_inside) continue;
      sum += map.values[static_cast<size_t>((top + y) * map.width + left + x)];
      ++count;
    }
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::optional<Rectangle> GrownBox(const Rectangle& box, double growth) {
  const std::vector<Point> corners(box.corners.begin(), box.corners.end());
  const double distance = Area(corners) * growth / Perimeter(corners);
  std::vector<Point> cut;
  for (const Point& corner : corners) cut.push_back({std::trunc(corner.x), std::trunc(corner.y)});
  const std::vector<Point> hull = ConvexHull(cut);
  if (hull.size() < 3 || !(distance > 0)) return std::nullopt;
  return SmallestRectangle(Grown(hull, distance));
}

// From the corner that is nearest to the top left, clockwise.
Corners FromTopLeft(Corners corners) {
  const auto first = std::min_element(corners.begin(), corners.end(),
                                      [](Point a, Point b) { return a.x + a.y < b.x + b.y; });
  std::rotate(corners.begin(), first, corners.end());
  return corners;
}

void OrderForReading(std::vector<Corners>* boxes) {
  std::stable_sort(boxes->begin(), boxes->end(), [](const Corners& a, const Corners& b) {
    return a[0].y != b[0].y ? a[0].y < b[0].y : a[0].x < b[0].x;
  });
  for (size_t end = 1; end < boxes->size(); ++end) {
    for (size_t i = end; i > 0; --i) {
      Corners& left = (*boxes)[i - 1];
      Corners& right = (*boxes)[i];
      if (std::abs(right[0].y - left[0].y) >= kOneLine || right[0].x >= left[0].x) break;
      std::swap(left, right);
    }
  }
}

}  // namespace

std::vector<Corners> FindTextBoxes(const ProbabilityMap& map, int64_t image_height,
                                   int64_t image_width, const BoxOptions& options) {
  std::vector<bool> is_text(map.values.size());
  std::transform(map.values.begin(), map.values.end(), is_text.begin(),
                 [&](float probability) { return probability > options.least_probability; });
  std::vector<std::vector<Point>> regions = FindRegions(is_text, map.height, map.width);
  if (static_cast<int64_t>(regions.size()) > options.most_regions) {
    regions.resize(static_cast<size_t>(options.most_regions));
  }
  const auto placed = [](double value, int64_t size, int64_t image_size) {
    const double scaled =
        std::nearbyint(value / static_cast<double>(size) * static_cast<double>(image_size));
    return std::clamp(scaled, 0.0, static_cast<double>(image_size - 1));
  };
  std::vector<Corners> boxes;
  for (const std::vector<Point>& region : regions) {
    const Rectangle around = SmallestRectangle(region);
    if (around.shorter_side < kLeastSide) continue;
    if (MeanInside(map, around.corners) < options.least_score) continue;
    const std::optional<Rectangle> grown = GrownBox(around, options.growth);
    if (!grown || grown->shorter_side < kLeastGrownSide) continue;
    Corners box = grown->corners;
    for (Point& corner : box) {
      corner = {placed(corner.x, map.width, image_width),
                placed(corner.y, map.height, image_height)};
    }
    box = FromTopLeft(box);
    if (Whole(Distance(box[0], box[1])) <= kMostOfNoBox ||
        Whole(Distance(box[0], box[3])) <= kMostOfNoBox) {
      continue;
    }
    boxes.push_back(box);
  }
  OrderForReading(&boxes);
  return boxes;
}

}  // namespace ocr
}  // namespace fixpoint
