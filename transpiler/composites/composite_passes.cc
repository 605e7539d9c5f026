#include "transpiler/composites/composite_passes.h"

#include <memory>

#include "proto/base/status_macros.h"

namespace fixpoint {

#define FIXPOINT_PASS(name) std::unique_ptr<Pass> Make##name();
#include "transpiler/composites/composite_passes.inc"
#undef FIXPOINT_PASS

absl::Status AddCompositePasses(PassTable* passes) {
#define FIXPOINT_PASS(name) RETURN_IF_ERROR(passes->Add(Make##name()));
#include "transpiler/composites/composite_passes.inc"
#undef FIXPOINT_PASS
  return absl::OkStatus();
}

}  // namespace fixpoint
