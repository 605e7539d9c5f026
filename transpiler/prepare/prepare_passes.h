// The built-in passes that the pipeline of a preparation can name.

#ifndef FIXPOINT_TRANSPILER_PREPARE_PREPARE_PASSES_H_
#define FIXPOINT_TRANSPILER_PREPARE_PREPARE_PASSES_H_

#include "transpiler/pipeline/pass.h"

namespace fixpoint {

// The passes of prepare_passes.inc, then of cleanup_passes.inc.
PassTable PreparePasses();

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PREPARE_PREPARE_PASSES_H_
