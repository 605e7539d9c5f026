// Arrays of tensors (LOD_TENSOR_ARRAY): which ops read them.

#ifndef FIXPOINT_OPS_ARRAY_SLOTS_H_
#define FIXPOINT_OPS_ARRAY_SLOTS_H_

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

bool IsArray(const Variable& variable);

// Whether the op of an input takes an array of tensors there; an op that runs a block takes them in
// every slot, because the block may read them.
bool MayBeTensorArray(const Argument& input);
// The error (kInvalidArgument) of one that does not.
absl::Status IsTensorArray(const Argument& input);

// Whether the op writes a single tensor of the array in an output, which keeps its others.
bool KeepsOtherTensors(const Argument& output);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ARRAY_SLOTS_H_
