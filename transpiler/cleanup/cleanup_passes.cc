#include "transpiler/cleanup/cleanup_passes.h"

namespace fixpoint {

#define FIXPOINT_PASS(name) std::unique_ptr<Pass> Make##name();
#include "transpiler/cleanup/cleanup_passes.inc"
#undef FIXPOINT_PASS

void AddCleanupPasses(std::vector<std::unique_ptr<Pass>>* passes) {
#define FIXPOINT_PASS(name) passes->push_back(Make##name());
#include "transpiler/cleanup/cleanup_passes.inc"
#undef FIXPOINT_PASS
}

}  // namespace fixpoint
