// Convex figures in the plane: hulls, the smallest rectangle around points, and a figure grown on
// all sides. x grows to the right, y downwards.

#ifndef FIXPOINT_EXAMPLES_OCR_GEOMETRY_H_
#define FIXPOINT_EXAMPLES_OCR_GEOMETRY_H_

#include <array>
#include <vector>

namespace fixpoint {
namespace ocr {

struct Point {
  double x = 0;
  double y = 0;
};

double Distance(Point a, Point b);

// Four corners, one beside the other; of text: top left, top right, bottom right, bottom left.
using Corners = std::array<Point, 4>;

// The corners of the smallest convex figure around the points, clockwise on the screen from the
// leftmost one, of several the topmost; none lies between its neighbours.
std::vector<Point> ConvexHull(std::vector<Point> points);

// Of a polygon without crossings; not negative.
double Area(const std::vector<Point>& polygon);
double Perimeter(const std::vector<Point>& polygon);

struct Rectangle {
  Corners corners;
  double shorter_side = 0;
};
// The rectangle of the smallest area around the points, one of whose sides lies on a side of their
// hull (Freeman and Shapira, "Determining the minimum-area encasing rectangle for an arbitrary
// closed curve", 1975); of several, that of the first side. The corners begin with the upper one of
// the two on the left, and go on clockwise. REQUIRES: there is a point.
Rectangle SmallestRectangle(const std::vector<Point>& points);

// A convex polygon of integers whose sides are moved outwards by `distance`, with rounded corners,
// in integers: what the Clipper library's offsets of round joins are. REQUIRES: 0 < distance; the
// polygon has an area, and no two neighbouring corners are equal.
std::vector<Point> Grown(const std::vector<Point>& polygon, double distance);

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_GEOMETRY_H_
