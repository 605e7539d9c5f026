// The map of composites that a program holds: what its composite ops were expanded into.

#ifndef FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_MAP_H_
#define FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_MAP_H_

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "transpiler/composites/composite_map.pb.h"

namespace fixpoint {

// Empty where nothing is expanded. Error (kInvalidArgument): its bytes are no map.
absl::StatusOr<CompositeMap> ReadCompositeMap(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_COMPOSITES_COMPOSITE_MAP_H_
