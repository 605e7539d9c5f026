// The gradients of products of matrices, which read the floats that codes stand for or, in bfloat16,
// the codes.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_GRADIENT_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_GRADIENT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/product.h"
#include "runtime/kernels/reduction.h"

namespace fixpoint::executor {

// Adds the steps that compute X@GRAD and Y@GRAD of Out@GRAD. With A = X or its transpose, and B = Y
// or its transpose: dA = dOut * B^T and dB = A^T * dOut, and dX and dY are those or their
// transposes. Error (kInvalidArgument): Out@GRAD is absent, or not as large as the product.
absl::Status PlanProductGradient(OpPlanner& op, const PlannedProduct& product);

// The sum of what an operand is repeated for.
absl::StatusOr<std::shared_ptr<kernels::Reduction>> SumOver(const Repetition& repetition);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_GRADIENT_H_
