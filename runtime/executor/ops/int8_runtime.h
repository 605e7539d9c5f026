// The ops between floats and codes of a byte that oneDNN runs in the reference.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_INT8_RUNTIME_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_INT8_RUNTIME_H_

#include "absl/status/status.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// quantize and dequantize, of Input.
absl::Status PlanQuantizeForOneDnn(OpPlanner& op);
absl::Status PlanDequantizeForOneDnn(OpPlanner& op);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_INT8_RUNTIME_H_
