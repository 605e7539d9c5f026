// The marks on ops that a rewrite inserted or changed: attributes, because those survive when the
// reference's tools load and save the program, where the edit log's field may not.

#ifndef FIXPOINT_TRANSPILER_MARKS_H_
#define FIXPOINT_TRANSPILER_MARKS_H_

#include "proto/program.h"

namespace fixpoint {

// STRING, on an inserted op: the pass.
inline constexpr char kInsertedByAttr[] = "fixpoint.inserted_by";
// STRINGS, on a changed op: "Input.0=x" for what stood in a slot, "X.3+" for an added argument.
inline constexpr char kRewiredAttr[] = "fixpoint.rewired";

// Whether Fixpoint has rewritten the program: it has an edit log, or an op with a mark.
bool IsMarked(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_MARKS_H_
