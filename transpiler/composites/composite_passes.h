// The passes between composite ops and their components (docs/composites.md), for the pipelines of
// every stage.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_PASSES_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_PASSES_H_

#include "absl/status/status.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {

// Error (kInvalidArgument): a pass of the table has one of their names.
absl::Status AddCompositePasses(PassTable* passes);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_PASSES_H_
