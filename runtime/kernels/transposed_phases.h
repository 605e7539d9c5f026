// A transposed convolution as ordinary ones. Elements of its output that are a stride apart are a
// phase: each is the sum of the same taps times inputs that follow each other, so that a phase of
// rows and one of columns are what a convolution with these taps and strides of 1 gives.

#ifndef FIXPOINT_RUNTIME_KERNELS_TRANSPOSED_PHASES_H_
#define FIXPOINT_RUNTIME_KERNELS_TRANSPOSED_PHASES_H_

#include <cstdint>
#include <vector>

#include "ops/window.h"

namespace fixpoint::kernels {

// For an axis: elements first, first + stride, ... of the output. Taps count from the filter's
// first element, inputs and elements of the output from 0.
struct TransposedPhase {
  int64_t first;
  int64_t count;
  std::vector<int64_t> taps;  // as the convolution has them, its first one first
  // The part of the inputs that the convolution reads, with the paddings of its window.
  int64_t first_input;
  int64_t inputs;
  WindowAxis window;

  // Whether it is the same convolution, of other inputs and with other taps.
  bool HasShapeOf(const TransposedPhase& other) const;
};

// The phases that have a tap; the elements of others are 0. `axis` is that of the convolution whose
// way back this is: from `inputs`, as many as it gives, to `outputs`, as many as it reads.
std::vector<TransposedPhase> TransposedPhases(const WindowAxis& axis, int64_t inputs,
                                              int64_t outputs);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TRANSPOSED_PHASES_H_
