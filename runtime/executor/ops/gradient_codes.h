// Gradients of products on integers (ops/codes/coded_gradients.h): exact sums of products of codes,
// times the step of both.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_GRADIENT_CODES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_GRADIENT_CODES_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::executor {

// The slots of the factors, the gradient of a product's result in one of them.
struct GradientFactors {
  absl::string_view left;
  absl::string_view right;
};

// Adds the steps that compute the gradient in `output` as a product of matrices, or that of the
// images or the filters of a convolution; false, with nothing added, where it is not computed on
// integers.
absl::StatusOr<bool> PlanCodedGradient(OpPlanner& op, absl::string_view output,
                                       const GradientFactors& factors,
                                       const kernels::ProductShape& shape, float factor);
absl::StatusOr<bool> PlanCodedGradientOfImages(OpPlanner& op,
                                               const kernels::ConvolutionShape& shape,
                                               Layout layout);
absl::StatusOr<bool> PlanCodedGradientOfFilters(OpPlanner& op,
                                                const kernels::ConvolutionShape& shape,
                                                Layout layout);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_GRADIENT_CODES_H_
