// Ops that the reference interpreter computes for the executor, so that their results have its
// bits.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_AS_REFERENCE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_AS_REFERENCE_H_

#include "absl/status/status.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Plans a step in which the interpreter computes the op, on one thread. Its tensors are copied to it
// and back, and memory for them is allocated in each run: some 50 ns for each element.
absl::Status PlanAsReference(const Program& program, OpPlanner& op);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_AS_REFERENCE_H_
