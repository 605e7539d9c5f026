// Softmax, for the ops that contain one.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_SOFTMAX_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_SOFTMAX_H_

#include "runtime/reference/array.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {

// Of the lines along the axis of `view`; no logit is let further than 64 below the largest.
Array SoftmaxOf(const Array& x, const AxisView& view);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_SOFTMAX_H_
