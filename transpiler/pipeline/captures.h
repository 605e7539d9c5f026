// Ops that run a block list what the block reads of the outside.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_CAPTURES_H_
#define FIXPOINT_TRANSPILER_PIPELINE_CAPTURES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/program.h"
#include "proto/rewriter.h"

namespace fixpoint {

// The slot in which an op of that type lists it; "" where the type has none, or is not known.
absl::string_view CaptureSlot(absl::string_view op_type);

// What the op's attributes may name: variables and, of an op with blocks of its own, whatever a
// text says (states of `recurrent`).
std::vector<absl::string_view> NamesInAttributes(const Op& op);

// What an op of a program for inference is to list in its CaptureSlot: what it lists, but for what
// its blocks do not name, and then what ops that were inserted or changed read in them of the
// outside. REQUIRES: the slot is not "". Linear in the op's blocks.
std::vector<std::string> CapturesOf(const Op& owner);

// Makes every op list that, inner ones first. Linear in the program for each level of blocks.
void UpdateCaptures(const Program& program, Rewriter* rewriter);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_CAPTURES_H_
