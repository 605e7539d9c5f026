// What runs of a program change in a scope, saved so that it can be restored: a program that is
// only measured leaves no trace in a state that others use.

#ifndef FIXPOINT_RUNTIME_KEPT_STATE_H_
#define FIXPOINT_RUNTIME_KEPT_STATE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint {

class KeptState {
 public:
  // Copies the persistable variables that ops of the program write, and no others: for a program in
  // test mode, ranges and statistics, not weights. Error (kFailedPrecondition): there is no memory.
  static absl::StatusOr<KeptState> Of(const Program& program, const Scope& scope);

  // Restores their values; variables that did not exist are removed. A tensor of the same type and
  // extents keeps its place in memory, so that an executor's plans still fit the scope. Error
  // (kFailedPrecondition): there is no memory.
  absl::Status Restore(Scope* scope) const;

 private:
  struct Kept {
    std::string name;
    std::optional<Scope::Value> value;  // none: the scope had no such variable
  };
  explicit KeptState(std::vector<Kept> kept) : kept_(std::move(kept)) {}

  std::vector<Kept> kept_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_KEPT_STATE_H_
