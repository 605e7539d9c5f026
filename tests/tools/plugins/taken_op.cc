// A plugin with an op of a type that there is.

#include "ops/op_schema_builder.h"
#include "runtime/own_ops.h"
#include "transpiler/extensions/plugin.h"

namespace {

absl::Status Extend(fixpoint::Extensions&) {
  fixpoint::OpList ops;
  ops.Define("relu(X) -> (Out)");
  return fixpoint::AddOwnOps({ops.Build(), {}, {}});
}

}  // namespace

FIXPOINT_PLUGIN(Extend);
