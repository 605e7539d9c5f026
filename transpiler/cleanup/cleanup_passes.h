// The passes over any program, which the pipelines of every stage can name.

#ifndef FIXPOINT_TRANSPILER_CLEANUP_CLEANUP_PASSES_H_
#define FIXPOINT_TRANSPILER_CLEANUP_CLEANUP_PASSES_H_

#include <memory>
#include <vector>

#include "transpiler/pipeline/pass.h"

namespace fixpoint {

// Appends the passes of cleanup_passes.inc to those of a stage.
void AddCleanupPasses(std::vector<std::unique_ptr<Pass>>* passes);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_CLEANUP_CLEANUP_PASSES_H_
