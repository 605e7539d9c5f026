// The shape that a pooling op declares.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_POOLING_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_POOLING_H_

#include "absl/status/statusor.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/pooling_shape.h"

namespace fixpoint::executor {

// From X and the attributes of pool2d except pooling_type. Error (kInvalidArgument): they do not
// fit each other.
absl::StatusOr<kernels::PoolingShape> PoolingShapeOf(const OpPlanner& op,
                                                     kernels::PoolingType type);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_POOLING_H_
