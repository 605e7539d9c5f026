// Whether a program was lowered.

#ifndef FIXPOINT_TRANSPILER_FREEZE_LOWERED_ALREADY_H_
#define FIXPOINT_TRANSPILER_FREEZE_LOWERED_ALREADY_H_

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether it is an op that only lowered programs have: one on integers.
bool IsOnIntegers(const Op& op);

// Error (kFailedPrecondition): the program is lowered already; the first such op.
absl::Status CheckIsNotLowered(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_LOWERED_ALREADY_H_
