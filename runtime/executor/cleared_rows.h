// Gradient ops of ops that compute each row by itself, where a run decides how many rows there are:
// they are planned for the most, with rows after those that are there from which no gradient comes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_CLEARED_ROWS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_CLEARED_ROWS_H_

#include <vector>

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

class ClearedRows {
 public:
  explicit ClearedRows(OpPlanner* planner) : planner_(*planner) {}

  // Before the plan function of an op: gives the inputs whose rows a run decides all rows, those
  // of gradients zeros and others copies of the first. Does nothing for other ops.
  absl::Status Begin();
  // After it: their rows are those of the run again, and so are those of their gradients.
  void End();

 private:
  struct Input {
    const Argument* argument;
    RunShape shape;
  };

  bool AppliesTo(const Op& op) const;
  absl::Status Clear(const Argument& argument);

  OpPlanner& planner_;
  std::vector<Input> inputs_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_CLEARED_ROWS_H_
