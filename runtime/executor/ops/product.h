// Products of matrices: what an op says of them, and the steps that compute them.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::executor {

// How an operand is repeated for the matrices of the other: dims that are 1 become others. The last
// dimension is the matrix.
struct Repetition {
  Dims own;
  Dims repeated;
};

// Out = alpha * X * Y, as matrices.
struct PlannedProduct {
  kernels::ProductShape shape;
  float alpha = 1;
  std::optional<Repetition> x;  // nothing: it has all matrices
  std::optional<Repetition> y;
};

// Multiplications and additions.
int64_t OperationsOf(const kernels::ProductShape& shape);

// An operand that was read, repeated by a step where the other has more matrices.
absl::StatusOr<Buffer> Repeated(OpPlanner& op, absl::string_view slot, Buffer read,
                                const std::optional<Repetition>& repetition);

// The product that mul, or matmul_v2, computes. Error (kInvalidArgument): X and Y do not fit each
// other.
absl::StatusOr<PlannedProduct> MulProduct(const OpPlanner& op);
absl::StatusOr<PlannedProduct> MatmulV2Product(const OpPlanner& op);

// The product of an input whose first `leading` dimensions are rows and a matrix of weights. Error
// (kInvalidArgument): they do not fit each other.
absl::StatusOr<kernels::ProductShape> FullyConnectedShape(const OpPlanner& op,
                                                          absl::string_view input_slot,
                                                          int64_t leading,
                                                          absl::string_view weight_slot);

// Adds the step that computes `output`, x * y, the op's own stages and the work of the ops after
// it. Error: that of kernels::Product::Plan.
absl::Status AddForwardProduct(OpPlanner& op, const kernels::ProductShape& shape, Buffer x,
                               Buffer y, const EpilogueInput& output, const OwnStages& own,
                               const OpsAfter& after);

// Adds the step that computes out = alpha * x * y; name "": the op's type. Error: that of
// kernels::Product::Plan.
absl::Status AddProduct(OpPlanner& op, const kernels::ProductShape& shape, float alpha, Buffer x,
                        Buffer y, Buffer out, std::string name = "");

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_H_
