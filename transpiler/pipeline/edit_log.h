// Stores what a rewrite has edited, so that it can be undone.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_EDIT_LOG_H_
#define FIXPOINT_TRANSPILER_PIPELINE_EDIT_LOG_H_

#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// Stores the program's edits in it, as the log of a rewrite, and forgets them. A log that is there
// already, of the rewrite before, is kept in this one. Returns the log, for what else it says.
EditLog& StoreEditLog(Program* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_EDIT_LOG_H_
