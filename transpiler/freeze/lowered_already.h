// Whether a program was lowered.

#ifndef FIXPOINT_TRANSPILER_FREEZE_LOWERED_ALREADY_H_
#define FIXPOINT_TRANSPILER_FREEZE_LOWERED_ALREADY_H_

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Error (kFailedPrecondition): the program is lowered already, and has an op on integers
// (ops/op_traits.h); the first such op.
absl::Status CheckIsNotLowered(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_LOWERED_ALREADY_H_
