// What a step does, with a name by which it is known to do what another does.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_NAMED_FUNCTION_H_
#define FIXPOINT_RUNTIME_EXECUTOR_NAMED_FUNCTION_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// The function of a step (Step::run). Steps whose functions have one name write the same bytes
// where they read the same.
struct NamedFunction {
  std::string name;
  std::function<absl::Status(const StepContext&)> run;

  absl::Status operator()(const StepContext& context) const { return run(context); }
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_NAMED_FUNCTION_H_
