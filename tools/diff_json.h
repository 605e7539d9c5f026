// A diff of programs for programs to read.

#ifndef FIXPOINT_TOOLS_DIFF_JSON_H_
#define FIXPOINT_TOOLS_DIFF_JSON_H_

#include "proto/program_diff.h"
#include "tools/json.h"

namespace fixpoint {

// The members "alike", "differences" and "given_up_blocks" of an object that has been begun.
void WriteDiff(const ProgramDiff& diff, JsonWriter* json);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_DIFF_JSON_H_
