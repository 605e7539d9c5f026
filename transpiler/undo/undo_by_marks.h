// Undoes a rewrite if the edit log is lost or the program was changed since.

#ifndef FIXPOINT_TRANSPILER_UNDO_UNDO_BY_MARKS_H_
#define FIXPOINT_TRANSPILER_UNDO_UNDO_BY_MARKS_H_

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether an op has a mark of Fixpoint.
bool HasMarks(const Program& program);

// Removes marked ops that were inserted, and restores the slots of marked ops that were changed.
// Errors: kFailedPrecondition: there is no mark, or what the marks lead back to is gone, as in a
// frozen program, or is wrong, because the program was edited since; kInvalidArgument: a mark does
// not fit its op. The program is then unchanged.
absl::Status UndoByMarks(Program* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_UNDO_UNDO_BY_MARKS_H_
