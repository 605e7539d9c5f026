// The built-in passes that the pipeline of a lowering can name.

#ifndef FIXPOINT_TRANSPILER_LOWER_LOWER_PASSES_H_
#define FIXPOINT_TRANSPILER_LOWER_LOWER_PASSES_H_

#include "transpiler/pipeline/pass.h"

namespace fixpoint {

// The passes of lower_passes.inc, then of cleanup_passes.inc.
PassTable LowerPasses();

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_LOWER_PASSES_H_
