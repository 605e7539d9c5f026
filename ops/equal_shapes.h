// Finds the sums that add tensors of one shape, as the program declares them: those that have a
// residual.

#ifndef FIXPOINT_OPS_EQUAL_SHAPES_H_
#define FIXPOINT_OPS_EQUAL_SHAPES_H_

#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether both inputs of a sum are FP32 tensors of equal dimensions, at least one, all known
// except possibly the first. This depends on the program's text alone, so that simulated, portable
// and lowered programs and all backends agree on it.
bool HaveEqualShapes(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_EQUAL_SHAPES_H_
