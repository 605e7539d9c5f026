// Which sums add tensors of one shape, as the program declares them: what a residual is.

#ifndef FIXPOINT_OPS_EQUAL_SHAPES_H_
#define FIXPOINT_OPS_EQUAL_SHAPES_H_

#include "proto/program.h"

namespace fixpoint {

// Whether both inputs of a sum are FP32 tensors of equal dimensions, all known but for the
// first, and at least one of them. A matter of the program's text alone, so that simulated,
// portable and lowered programs and all that run them agree about it.
bool HaveEqualShapes(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_EQUAL_SHAPES_H_
