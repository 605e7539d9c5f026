// What a convolution before a batch_norm, and a quantizer after it, know about it.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_BATCH_NORM_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_BATCH_NORM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/dims.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/batch_norm.h"

namespace fixpoint::executor {

// The result of a batch_norm by the batch's statistics, held not as elements but as what they are
// computed from.
struct NormalizedValue {
  std::shared_ptr<kernels::BatchNorm> norm;
  Buffer x;
  Buffer mean;
  Buffer variance;
  Buffer inverse_deviation;
  Buffer factors;
  Buffer addends;
  Buffer range;      // the largest absolute value
  std::string name;  // "batch_norm + relu"

  kernels::BatchStatistics Statistics(const StepContext& run) const;
};
// Null if a value is no such result, or its elements are held too.
const NormalizedValue* FindNormalized(PlanBuilder& builder, const Value& value);

// The gradient of a batch_norm's input, likewise.
struct UncomputedGradient {
  NormalizedValue y;
  Buffer x;
  Buffer dy;
  Buffer means;
  Buffer slopes;
  Layout layout;
  std::string name;  // "batch_norm_grad + relu_grad"

  kernels::GradientStatistics Statistics(const StepContext& run) const;
  // What a step that computes it reads.
  std::vector<Buffer> Reads() const;
};
// Null if a value is no such gradient, or its elements are held.
const UncomputedGradient* FindUncomputedGradient(PlanBuilder& builder, const Value& value);

// a = Scale / sqrt(Variance + epsilon) and b = Bias - Mean * a, every operation rounded to FP32.
struct AffineNorm {
  Buffer a;
  Buffer b;
};
// Adds the steps that compute all outputs except Y. REQUIRES: it is folded into a product
// (ops/codes/folded_ops.h).
absl::StatusOr<AffineNorm> AddAffineNorm(OpPlanner& op);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_BATCH_NORM_H_
