// Steps that are products of matrices.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::executor {

// Adds the step that computes out = alpha * x * y; name "": the op's type. Error: that of
// kernels::Product::Plan.
absl::Status AddProduct(OpPlanner& op, const kernels::ProductShape& shape, float alpha, Buffer x,
                        Buffer y, Buffer out, std::string name = "");

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PRODUCT_H_
