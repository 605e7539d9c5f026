// Ops that run a block list what the block reads of the outside.

#ifndef FIXPOINT_TRANSPILER_PASSES_CAPTURES_H_
#define FIXPOINT_TRANSPILER_PASSES_CAPTURES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/program.h"
#include "proto/rewriter.h"

namespace fixpoint {

// The slot in which an op of that type lists it; "" where the type has none, or is not known.
absl::string_view CaptureSlot(absl::string_view op_type);

// Makes every op that runs a block in which `block` is list `names`, parameters that an op of
// `block` now reads, in the place of `replaced` where nothing in there reads that any more.
void CaptureParameters(const Block& block, const std::vector<std::string>& names,
                       const Variable& replaced, Rewriter* rewriter);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PASSES_CAPTURES_H_
