#include "transpiler/prepare/prepare_passes.h"

#include <memory>
#include <utility>
#include <vector>

#include "transpiler/cleanup/cleanup_passes.h"

namespace fixpoint {

#define FIXPOINT_PASS(name) std::unique_ptr<Pass> Make##name();
#include "transpiler/prepare/prepare_passes.inc"
#undef FIXPOINT_PASS

PassTable PreparePasses() {
  std::vector<std::unique_ptr<Pass>> passes;
#define FIXPOINT_PASS(name) passes.push_back(Make##name());
#include "transpiler/prepare/prepare_passes.inc"
#undef FIXPOINT_PASS
  AddCleanupPasses(&passes);
  return PassTable(std::move(passes));
}

}  // namespace fixpoint
