// The parts of an image that a pooling uses, axis by axis.

#ifndef FIXPOINT_RUNTIME_KERNELS_POOLING_AXES_H_
#define FIXPOINT_RUNTIME_KERNELS_POOLING_AXES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/kernels/pooling_shape.h"

namespace fixpoint::kernels {

// The part of one axis of the image that one place of the output uses.
struct PoolingPart {
  int64_t begin;
  int64_t end;
  int64_t count;  // what this axis gives to the divisor of an average
  double share;   // 1 / count

  int64_t size() const { return end - begin; }
};

// The places of the output that use a place of the image.
struct PoolingTakers {
  int64_t begin;
  int64_t end;
};

struct PoolingAxis {
  std::vector<PoolingPart> parts;
  std::vector<PoolingTakers> takers;
};

// Height, width.
using PoolingAxes = std::array<PoolingAxis, 2>;

// REQUIRES: the shape is complete.
PoolingAxes AxesOf(const PoolingShape& shape);

// Whether each place of the image is in one window, so that the windows do not overlap.
bool IsPartition(const PoolingAxes& axes);

int64_t LargestPart(const PoolingAxis& axis);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_POOLING_AXES_H_
