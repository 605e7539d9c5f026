// What holds for a program that was made for inference, checked at the end of the pipelines that
// make one:
//
//   1. No op belongs to training: none has the Backward, Optimize or LRSched bit.
//   2. Every op that has a test mode is in it, but for quantizers that find their range anew.
//   3. No op reads what only removed ops wrote, unless it is fed.
// And of a frozen one:
//   4. No op observes, and none quantizes a parameter.
//   5. Codes are read by a dequantize op of their own scale; in the legacy forms there may be one
//      product between them.
//   6. What an op that runs blocks captures is what they name, and includes what ops of ours read.

#ifndef FIXPOINT_TRANSPILER_FREEZE_INFERENCE_INVARIANTS_H_
#define FIXPOINT_TRANSPILER_FREEZE_INFERENCE_INVARIANTS_H_

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"
#include "transpiler/freeze/freeze_context.h"

namespace fixpoint {

// Checks the first three and, for a frozen program, all of them. REQUIRES: the program still has
// its edits recorded. Errors: kInternal: what is violated, a line each; kFailedPrecondition: an op
// reads what only a training op wrote, so that no such program can be made. Linear in the program.
absl::Status CheckTestProgram(const Program& program, const FreezeContext& context);
absl::Status CheckFrozenProgram(const Program& program, const FreezeContext& context);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_INFERENCE_INVARIANTS_H_
