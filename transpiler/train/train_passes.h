// The built-in passes that the pipeline of a transpile can name.

#ifndef FIXPOINT_TRANSPILER_TRAIN_TRAIN_PASSES_H_
#define FIXPOINT_TRANSPILER_TRAIN_TRAIN_PASSES_H_

#include "transpiler/pipeline/pass.h"

namespace fixpoint {

// The passes of train_passes.inc, then of cleanup_passes.inc.
PassTable TrainPasses();

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_TRAIN_PASSES_H_
