// Programs of inference that several runs compute at once, on one scope.

#ifndef FIXPOINT_RUNTIME_SHARED_PROGRAM_H_
#define FIXPOINT_RUNTIME_SHARED_PROGRAM_H_

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Declares the variables of a single run as non-persistable, because all runs would share
// persistable ones: those that ops write, and whose former value none reads.
void DropPersistableOfOneRun(Program* program);

// Error (kInvalidArgument): an op writes a parameter, as in training.
absl::Status CheckWritesNoParameters(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_SHARED_PROGRAM_H_
