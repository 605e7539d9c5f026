// The findings of a verification as JSON.

#ifndef FIXPOINT_TOOLS_VERIFY_JSON_H_
#define FIXPOINT_TOOLS_VERIFY_JSON_H_

#include "absl/types/span.h"
#include "ops/verifier.h"
#include "proto/program/program_fwd.h"
#include "tools/json.h"

namespace fixpoint {

// Writes the members "errors", "findings" and "warnings" of an object that was begun. Linear in the
// program.
void WriteFindings(const Program& program, absl::Span<const Finding> findings, JsonWriter* json);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_VERIFY_JSON_H_
