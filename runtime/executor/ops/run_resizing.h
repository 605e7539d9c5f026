// Resizing to sizes that a run decides: planned for the largest that the program declares.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_RESIZING_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_RESIZING_H_

#include "absl/status/status.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/resize_sizes.h"
#include "runtime/executor/ops/resize_taps.h"

namespace fixpoint::executor {

// Adds the step that resizes X to Out. Errors: those of ResizeSizes::Most.
absl::Status AddRunResize(OpPlanner& op, const ResizeMethod& method, const ResizeSizes& sizes);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_RESIZING_H_
