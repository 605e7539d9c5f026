#include "runtime/run_op_types.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

absl::flat_hash_set<std::string>& RunOpTypes() {
  static auto* const types = new absl::flat_hash_set<std::string>{
#define FIXPOINT_RUN_OP_TYPE(type) type,
#include "runtime/run_op_types.inc"
#undef FIXPOINT_RUN_OP_TYPE
  };
  return *types;
}

}  // namespace

void AddRunOpType(absl::string_view type) { RunOpTypes().emplace(type); }

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
