// Sums and maxima that do not depend on the instruction set: in double, in lanes, the lanes
// combined pairwise.

#ifndef FIXPOINT_RUNTIME_KERNELS_LANE_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_LANE_SUMS_H_

#include <cmath>
#include <cstdint>

namespace fixpoint::kernels {

// How elements are combined, and the value that combining starts from.
struct LaneAdd {
  static constexpr double kNothing = 0;
  static double Combine(double a, double b) { return a + b; }
};
struct LaneMultiply {
  static constexpr double kNothing = 1;
  static double Combine(double a, double b) { return a * b; }
};
// The maximum and the minimum of a NaN and anything else are the NaN.
struct LaneMax {
  static constexpr double kNothing = -INFINITY;
  static double Combine(double a, double b) { return (b != b) | (b > a) ? b : a; }
};
struct LaneMin {
  static constexpr double kNothing = INFINITY;
  static double Combine(double a, double b) { return (b != b) | (b < a) ? b : a; }
};

inline constexpr int kFoldLanes = 16;

// Combines the terms term(i) for i in [0, size), floats or doubles, into kFoldLanes lanes that
// begin as How::kNothing. For loops of vectorised.h. Terms may come in several parts, of which all
// but the last are of a multiple of kFoldLanes. A term must not compute or load inside a
// conditional expression, which gcc 12 miscompiles for AVX2: `c ? 0.0f : a * b` becomes a * b,
// whatever c is, and some terms of `c ? 0.0f : a[i]` are lost.
template <typename How, typename Term>
void FoldIntoLanes(int64_t size, Term term, double* lanes) {
  int64_t i = 0;
  for (; i + kFoldLanes <= size; i += kFoldLanes) {
    for (int lane = 0; lane < kFoldLanes; ++lane) {
      lanes[lane] = How::Combine(lanes[lane], static_cast<double>(term(i + lane)));
    }
  }
  for (; i < size; ++i) {
    lanes[i % kFoldLanes] = How::Combine(lanes[i % kFoldLanes], static_cast<double>(term(i)));
  }
}

// The lanes combined, in place of the first.
template <typename How>
double CombineLanes(double* lanes) {
  for (int width = kFoldLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] = How::Combine(lanes[lane], lanes[lane + width]);
    }
  }
  return lanes[0];
}

// All terms, combined.
template <typename How, typename Term>
double LaneFold(int64_t size, Term term) {
  double own[kFoldLanes];
  for (double& lane : own) lane = How::kNothing;
  FoldIntoLanes<How>(size, term, own);
  return CombineLanes<How>(own);
}

template <typename Term>
double LaneSum(int64_t size, Term term) {
  return LaneFold<LaneAdd>(size, term);
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LANE_SUMS_H_
