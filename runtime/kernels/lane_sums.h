// Sums that do not depend on the instruction set: in double, in lanes, the lanes added pairwise.

#ifndef FIXPOINT_RUNTIME_KERNELS_LANE_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_LANE_SUMS_H_

#include <cstdint>

namespace fixpoint::kernels {

// The sum of term(i) for i in [0, size), of floats or doubles. For loops of vectorised.h.
template <typename Term>
double LaneSum(int64_t size, Term term) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(term(i + lane));
  }
  for (; i < size; ++i) lanes[i % kLanes] += static_cast<double>(term(i));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_LANE_SUMS_H_
