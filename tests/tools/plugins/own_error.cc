// A plugin that does not work here, and says so.

#include "transpiler/extensions/plugin.h"

static absl::Status Extend(fixpoint::Extensions&) {
  return absl::FailedPreconditionError("its accelerator is not there");
}

FIXPOINT_PLUGIN(Extend);
