// What begins in a program at a step of training: a quantizer's test mode, or the value that a
// select_from_step selects. A plan is for one phase: which of these ops have begun.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_SCHEDULE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/scope.h"

namespace fixpoint::executor {

class Schedule {
 public:
  // Error (kUnimplemented): an op that begins at a step does not read the step from a counter that
  // a run begins with, or from an increment of one.
  static absl::StatusOr<Schedule> Of(const Program& program);

  // For each of those ops whether it has begun in a run of these feeds on the scope. Error
  // (kFailedPrecondition): neither has an INT64 [1] for a counter.
  absl::StatusOr<std::vector<bool>> PhaseOf(absl::Span<const Feed> feeds, const Scope& scope) const;
  absl::flat_hash_set<const Op*> BegunIn(const std::vector<bool>& phase) const;

 private:
  struct Entry {
    const Op* op;
    std::string counter;
    double increment;  // of this run, before the op; a whole number
    int64_t first_step;
  };
  absl::Status Add(const Op& op, int64_t first_step, Era era);

  std::vector<Entry> entries_;
};

// The input that a select_from_step does not read in the phase in which these ops have begun: what
// is computed for it alone is left out of the plan, except in blocks that are run. Null where both
// are one value, or the op is computed once; and for other ops.
const Argument* UnreadInput(const Op& op, const absl::flat_hash_set<const Op*>& begun);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_SCHEDULE_H_
