#include "examples/ocr/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace fixpoint {
namespace ocr {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Clipper's: how far an arc may lie inside of the circle.
constexpr double kArcTolerance = 0.25;

double Cross(Point origin, Point a, Point b) {
  return (a.x - origin.x) * (b.y - origin.y) - (a.y - origin.y) * (b.x - origin.x);
}

// Twice the area, positive where the corners go clockwise on the screen.
double SignedArea(const std::vector<Point>& polygon) {
  double area = 0;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point& next = polygon[(i + 1) % polygon.size()];
    area += polygon[i].x * next.y - polygon[i].y * next.x;
  }
  return area / 2;
}

// Half away from zero.
Point Rounded(double x, double y) { return {std::round(x), std::round(y)}; }

// Corners of equal height keep their order.
void PutUpperFirst(Point& first, Point& second) {
  if (second.y < first.y) std::swap(first, second);
}

}  // namespace

double Distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

std::vector<Point> ConvexHull(std::vector<Point> points) {
  const auto before = [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; };
  const auto equal = [](Point a, Point b) { return a.x == b.x && a.y == b.y; };
  std::sort(points.begin(), points.end(), before);
  points.erase(std::unique(points.begin(), points.end(), equal), points.end());
  if (points.size() < 3) return points;
  std::vector<Point> hull;
  const auto take = [&hull](Point point, size_t kept) {
    while (hull.size() > kept && Cross(hull[hull.size() - 2], hull.back(), point) <= 0) {
      hull.pop_back();
    }
    hull.push_back(point);
  };
  for (const Point& point : points) take(point, 1);
  const size_t upper = hull.size();
  for (auto point = points.rbegin() + 1; point != points.rend(); ++point) take(*point, upper);
  hull.pop_back();
  return hull;
}

double Area(const std::vector<Point>& polygon) { return std::abs(SignedArea(polygon)); }

double Perimeter(const std::vector<Point>& polygon) {
  double length = 0;
  for (size_t i = 0; i < polygon.size(); ++i) {
    length += Distance(polygon[i], polygon[(i + 1) % polygon.size()]);
  }
  return length;
}

Rectangle SmallestRectangle(const std::vector<Point>& points) {
  const std::vector<Point> hull = ConvexHull(points);
  Rectangle smallest;
  smallest.corners.fill(hull[0]);
  double smallest_area = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < hull.size() && hull.size() > 1; ++i) {
    const Point& from = hull[i];
    const Point& to = hull[(i + 1) % hull.size()];
    const double length = Distance(from, to);
    const Point along = {(to.x - from.x) / length, (to.y - from.y) / length};
    double along_least = 0;
    double along_most = 0;
    double across_least = 0;
    double across_most = 0;
    for (const Point& point : hull) {
      const double x = point.x - from.x;
      const double y = point.y - from.y;
      const double a = x * along.x + y * along.y;
      const double c = y * along.x - x * along.y;
      along_least = std::min(along_least, a);
      along_most = std::max(along_most, a);
      across_least = std::min(across_least, c);
      across_most = std::max(across_most, c);
    }
    const double area = (along_most - along_least) * (across_most - across_least);
    if (area >= smallest_area) continue;
    smallest_area = area;
    smallest.shorter_side = std::min(along_most - along_least, across_most - across_least);
    const auto corner = [&](double a, double c) {
      // As precise as OpenCV has them, so that a corner on a pixel is one.
      return Point{static_cast<float>(from.x + a * along.x - c * along.y),
                   static_cast<float>(from.y + a * along.y + c * along.x)};
    };
    smallest.corners = {corner(along_least, across_least), corner(along_most, across_least),
                        corner(along_most, across_most), corner(along_least, across_most)};
  }
  Corners sorted = smallest.corners;
  std::stable_sort(sorted.begin(), sorted.end(), [](Point a, Point b) { return a.x < b.x; });
  PutUpperFirst(sorted[0], sorted[1]);
  PutUpperFirst(sorted[2], sorted[3]);
  smallest.corners = {sorted[0], sorted[2], sorted[3], sorted[1]};
  return smallest;
}

std::vector<Point> Grown(const std::vector<Point>& polygon, double distance) {
  std::vector<Point> corners = polygon;
  if (SignedArea(corners) < 0) std::reverse(corners.begin(), corners.end());
  const size_t size = corners.size();
  std::vector<Point> normals;
  for (size_t i = 0; i < size; ++i) {
    const Point& next = corners[(i + 1) % size];
    const double length = Distance(corners[i], next);
    normals.push_back({(next.y - corners[i].y) / length, (corners[i].x - next.x) / length});
  }
  const double tolerance = std::min(kArcTolerance, distance * kArcTolerance);
  const double steps = std::min(kPi / std::acos(1 - tolerance / distance), distance * kPi);
  const double sine = std::sin(2 * kPi / steps);
  const double cosine = std::cos(2 * kPi / steps);
  std::vector<Point> grown;
  for (size_t i = 0; i < size; ++i) {
    const Point& corner = corners[i];
    Point normal = normals[(i + size - 1) % size];
    const Point& last = normals[i];
    const double turn =
        std::atan2(normal.x * last.y - normal.y * last.x, normal.x * last.x + normal.y * last.y);
    const auto arcs = std::max<long>(1, std::lround(steps / (2 * kPi) * std::abs(turn)));
    for (long arc = 0; arc < arcs; ++arc) {
      grown.push_back(Rounded(corner.x + normal.x * distance, corner.y + normal.y * distance));
      normal = {normal.x * cosine - sine * normal.y, normal.x * sine + normal.y * cosine};
    }
    grown.push_back(Rounded(corner.x + last.x * distance, corner.y + last.y * distance));
  }
  return grown;
}

}  // namespace ocr
}  // namespace fixpoint
