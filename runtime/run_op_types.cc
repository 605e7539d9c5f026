#include "runtime/run_op_types.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

const absl::flat_hash_set<std::string>& RunOpTypes() {
  static const auto* const kTypes = new absl::flat_hash_set<std::string>{
#define FIXPOINT_RUN_OP_TYPE(type) type,
#include "runtime/run_op_types.inc"
#undef FIXPOINT_RUN_OP_TYPE
  };
  return *kTypes;
}

}  // namespace

std::vector<const Op*> FindOpsThatNothingRuns(const Program& program) {
  std::vector<const Op*> found;
  absl::flat_hash_set<std::string> seen;
  for (const Op& op : program.ops()) {
    if (RunOpTypes().contains(op.type()) || !seen.insert(op.type()).second) continue;
    found.push_back(&op);
  }
  return found;
}

}  // namespace fixpoint
