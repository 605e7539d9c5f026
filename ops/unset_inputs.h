// Inputs without a value: which ops may meet them, and why there is none.

#ifndef FIXPOINT_OPS_UNSET_INPUTS_H_
#define FIXPOINT_OPS_UNSET_INPUTS_H_

#include "absl/status/status.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether the op of an input runs without its value: one of a list of an op that runs a block,
// because the block may write it first; or one of those among which select_input chooses.
bool MayBeUnset(const Argument& input, Era era);

// An error (kFailedPrecondition) that says why what a variable holds there may be missing, and what
// is wanted: `"y" has no value: ...`. The second says which input reads it.
absl::Status NoValue(const Value& value);
absl::Status NoValue(const Argument& input);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_UNSET_INPUTS_H_
