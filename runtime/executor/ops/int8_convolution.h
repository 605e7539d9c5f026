// conv2d of codes of a byte, as oneDNN runs it in the reference (ops/int8_convolution.h).

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_INT8_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_INT8_CONVOLUTION_H_

#include "absl/status/status.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/convolution_shape.h"

namespace fixpoint::executor {

// Plans conv2d or depthwise_conv2d on integers. REQUIRES: Input is codes of a byte. Errors: those
// of ReadInt8Convolution; kUnimplemented: Filter is neither FP32 nor INT8.
absl::Status PlanInt8Convolution(OpPlanner& op, const kernels::ConvolutionShape& shape,
                                 Layout layout);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_INT8_CONVOLUTION_H_
