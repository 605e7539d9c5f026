// Composes a transposed convolution from ordinary ones. Output elements that are a stride apart
// form a phase: each is the sum of the same taps times adjacent inputs, so that a convolution with
// these taps and strides of 1 computes a phase of rows and a phase of columns.

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

  // Whether both are the same convolution, apart from their inputs and taps.
  bool HasShapeOf(const TransposedPhase& other) const;
};

// The phases that have a tap; elements of other phases are 0. `axis` describes the convolution of
// which this is the transpose: it reads `outputs` elements and gives `inputs`.
std::vector<TransposedPhase> TransposedPhases(const WindowAxis& axis, int64_t inputs,
                                              int64_t outputs);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TRANSPOSED_PHASES_H_
