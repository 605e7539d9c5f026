// The built-in passes that the pipeline of a freeze can name.

#ifndef FIXPOINT_TRANSPILER_FREEZE_FREEZE_PASSES_H_
#define FIXPOINT_TRANSPILER_FREEZE_FREEZE_PASSES_H_

#include "transpiler/pipeline/pass.h"

namespace fixpoint {

// The passes of freeze_passes.inc, then of cleanup_passes.inc.
PassTable FreezePasses();

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_FREEZE_PASSES_H_
