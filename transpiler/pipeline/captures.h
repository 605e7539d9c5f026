// Ops that run a block list what the block reads from outside.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_CAPTURES_H_
#define FIXPOINT_TRANSPILER_PIPELINE_CAPTURES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"

namespace fixpoint {

// The slot in which the op lists it; "" if it runs no block, or its type has none or is unknown.
absl::string_view CaptureSlot(const Op& op);

// What the op's attributes may name: variables and, for an op with blocks of its own, any name in a
// string (states of `recurrent`).
std::vector<absl::string_view> NamesInAttributes(const Op& op);

// What an op of an inference program has to list in its CaptureSlot: what it lists now and its
// blocks name, and then what inserted or changed ops in its blocks read from outside. REQUIRES: the
// slot is not "". Linear in the op's blocks.
std::vector<std::string> CapturesOf(const Op& owner);

// Updates these lists for every op, inner ones first. Linear in the program for each level of
// blocks.
void UpdateCaptures(const Program& program, Rewriter* rewriter);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_CAPTURES_H_
