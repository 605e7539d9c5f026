// A diff of programs as JSON.

#ifndef FIXPOINT_TOOLS_DIFF_JSON_H_
#define FIXPOINT_TOOLS_DIFF_JSON_H_

#include "proto/diff/program_diff.h"
#include "tools/json.h"

namespace fixpoint {

// Writes the members "alike", "differences" and "given_up_blocks" of an object that was begun.
void WriteDiff(const ProgramDiff& diff, JsonWriter* json);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_DIFF_JSON_H_
