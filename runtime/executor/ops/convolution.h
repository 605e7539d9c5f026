// What an op that convolves says of its shape.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_CONVOLUTION_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_CONVOLUTION_H_

#include "absl/status/statusor.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/convolution_shape.h"

namespace fixpoint::executor {

// From Input, Filter and the attributes of conv2d. Error (kInvalidArgument): they do not fit each
// other.
absl::StatusOr<kernels::ConvolutionShape> ConvolutionShapeOf(const OpPlanner& op);

// The same for conv2d_transpose, whose output has the dims `images`: the convolution whose output
// is Input, and whose images are the op's output.
absl::StatusOr<kernels::ConvolutionShape> TransposedShapeOf(const OpPlanner& op,
                                                            const Dims& images);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_CONVOLUTION_H_
