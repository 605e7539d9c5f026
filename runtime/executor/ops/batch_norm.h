// What a convolution does of the batch_norm behind it.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_BATCH_NORM_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_BATCH_NORM_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Whether a batch_norm is y = x * a + b of each channel: by given statistics, for that many
// channels. X need not be planned.
bool IsAffine(const OpPlanner& op, int64_t channels);

// a = Scale / sqrt(Variance + epsilon) and b = Bias - Mean * a, every operation rounded to FP32.
struct AffineNorm {
  Buffer a;
  Buffer b;
};
// Adds the steps that compute all outputs but Y. REQUIRES: IsAffine.
absl::StatusOr<AffineNorm> AddAffineNorm(OpPlanner& op);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_BATCH_NORM_H_
