// Finds the sums that add tensors of one shape, as the program declares them: those that have a
// residual.

#ifndef FIXPOINT_OPS_EQUAL_SHAPES_H_
#define FIXPOINT_OPS_EQUAL_SHAPES_H_

#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether both inputs of a sum are FP32 tensors of equal dimensions, at least one, of which the
// first may be unknown, and others only where ops before the sum pass one unknown dimension on to
// both inputs: the length of sequences around a block of an encoder, the height of images around
// convolutions that keep it. This depends on the program's text alone, so that simulated, portable
// and lowered programs and all backends agree on it. Linear in the ops that are followed back, at
// most 1024 for each dimension.
bool HaveEqualShapes(const Op& op, Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_EQUAL_SHAPES_H_
