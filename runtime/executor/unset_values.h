// Values that a run may leave unset: those of variables that only a block writes which may not run.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_UNSET_VALUES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_UNSET_VALUES_H_

#include <vector>

#include "absl/status/status.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/plan_builder.h"

namespace fixpoint::executor {

// Attached to such a value (PlanBuilder::Attach).
struct IsSet {
  Buffer flag;  // BOOL [1]: whether the run has set the value
};

// The values that an op reads, `unread` excepted: those that have to be set when a plan is made, if
// not when it runs; and those that may be unset, which its plan function looks after.
struct ReadValues {
  std::vector<const Value*> wanted;
  std::vector<const Value*> optional;
};
ReadValues ValuesReadBy(const Op& op, Era era, const Argument* unread);

// Adds the step that ends with the error if a value that may be unset is.
void AddSetCheck(const Value& value, absl::Status error, PlanBuilder* builder);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_UNSET_VALUES_H_
