// The ten digits as a pen draws them, for images that are rendered (runtime/data/digits.h).

#ifndef FIXPOINT_RUNTIME_DATA_DIGIT_STROKES_H_
#define FIXPOINT_RUNTIME_DATA_DIGIT_STROKES_H_

#include <array>
#include <cstddef>

namespace fixpoint {

// In a box from 0 to 1, x to the right and y down.
struct StrokePoint {
  double x;
  double y;
};

inline constexpr size_t kMostStrokePoints = 13;

// Points joined by straight lines, in one stroke.
struct DigitStroke {
  size_t size;
  std::array<StrokePoint, kMostStrokePoints> points;
};

inline constexpr std::array<DigitStroke, 10> kDigitStrokes = {{
    {11,
     {{{0.5, 0},
       {0.8, 0.1},
       {0.95, 0.35},
       {0.95, 0.65},
       {0.8, 0.9},
       {0.5, 1},
       {0.2, 0.9},
       {0.05, 0.65},
       {0.05, 0.35},
       {0.2, 0.1},
       {0.5, 0}}}},
    {3, {{{0.25, 0.2}, {0.55, 0}, {0.55, 1}}}},
    {9,
     {{{0.1, 0.25},
       {0.25, 0.05},
       {0.55, 0},
       {0.85, 0.12},
       {0.9, 0.35},
       {0.7, 0.6},
       {0.35, 0.82},
       {0.08, 1},
       {0.95, 1}}}},
    {11,
     {{{0.1, 0.1},
       {0.4, 0},
       {0.75, 0.05},
       {0.88, 0.25},
       {0.7, 0.43},
       {0.4, 0.48},
       {0.75, 0.55},
       {0.92, 0.75},
       {0.75, 0.95},
       {0.4, 1},
       {0.08, 0.88}}}},
    {4, {{{0.65, 1}, {0.65, 0}, {0.05, 0.68}, {0.95, 0.68}}}},
    {9,
     {{{0.88, 0},
       {0.2, 0},
       {0.14, 0.45},
       {0.5, 0.38},
       {0.85, 0.5},
       {0.92, 0.72},
       {0.75, 0.94},
       {0.4, 1},
       {0.08, 0.9}}}},
    {11,
     {{{0.8, 0.05},
       {0.45, 0.15},
       {0.18, 0.42},
       {0.08, 0.72},
       {0.25, 0.95},
       {0.55, 1},
       {0.85, 0.88},
       {0.9, 0.65},
       {0.65, 0.5},
       {0.35, 0.52},
       {0.12, 0.68}}}},
    {4, {{{0.05, 0}, {0.95, 0}, {0.6, 0.45}, {0.38, 1}}}},
    {13,
     {{{0.5, 0.47},
       {0.2, 0.36},
       {0.15, 0.15},
       {0.5, 0},
       {0.85, 0.15},
       {0.8, 0.36},
       {0.5, 0.47},
       {0.15, 0.62},
       {0.08, 0.85},
       {0.5, 1},
       {0.92, 0.85},
       {0.85, 0.62},
       {0.5, 0.47}}}},
    {11,
     {{{0.2, 0.95},
       {0.55, 0.85},
       {0.82, 0.58},
       {0.92, 0.28},
       {0.75, 0.05},
       {0.45, 0},
       {0.15, 0.12},
       {0.1, 0.35},
       {0.35, 0.5},
       {0.65, 0.48},
       {0.88, 0.32}}}},
}};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_DIGIT_STROKES_H_
