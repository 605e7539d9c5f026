#include "transpiler/freeze/freeze_passes.h"

#include <memory>
#include <utility>
#include <vector>

namespace fixpoint {

#define FIXPOINT_PASS(name) std::unique_ptr<Pass> Make##name();
#include "transpiler/cleanup/cleanup_passes.inc"
#include "transpiler/freeze/freeze_passes.inc"
#undef FIXPOINT_PASS

PassTable FreezePasses() {
  std::vector<std::unique_ptr<Pass>> passes;
#define FIXPOINT_PASS(name) passes.push_back(Make##name());
#include "transpiler/cleanup/cleanup_passes.inc"
#include "transpiler/freeze/freeze_passes.inc"
#undef FIXPOINT_PASS
  return PassTable(std::move(passes));
}

}  // namespace fixpoint
