#include "transpiler/composites/composite_map.h"

#include "absl/status/status.h"
#include "proto/program/program.h"

namespace fixpoint {

absl::StatusOr<CompositeMap> ReadCompositeMap(const Program& program) {
  CompositeMap map;
  if (map.ParseFromString(program.Proto().composites())) return map;
  return absl::InvalidArgumentError(
      "the map of composites cannot be read: its bytes are no CompositeMap; want those that "
      "expand_composites wrote");
}

}  // namespace fixpoint
