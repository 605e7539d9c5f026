// The ops that the backends (backends.h) run, for code that does not link them.

#ifndef FIXPOINT_RUNTIME_RUN_OP_TYPES_H_
#define FIXPOINT_RUNTIME_RUN_OP_TYPES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// The first op of each type that none of the backends runs, in program order. From
// run_op_types.inc, which ./bazelw run //tests/docs:update makes from their kernels, and which
// //tests/docs compares with them.
std::vector<const Op*> FindOpsThatNothingRuns(const Program& program);

// Adds a type of a user's own (own_ops.h).
void AddRunOpType(absl::string_view type);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_RUN_OP_TYPES_H_
