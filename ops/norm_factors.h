// batch_norm by given statistics, as one multiplication and one addition.

#ifndef FIXPOINT_OPS_NORM_FACTORS_H_
#define FIXPOINT_OPS_NORM_FACTORS_H_

#include <cmath>

#include "ops/op_form.h"

namespace fixpoint {

// y = x * a + b for a channel, both operations rounded.
struct NormFactors {
  float a;
  float b;
};

inline NormFactors NormFactorsOf(float scale, float bias, float mean, float variance,
                                 float epsilon) {
  const float a = scale / std::sqrt(variance + epsilon);
  return {a, bias - mean * a};
}

// Whether a batch_norm normalizes by the statistics that it is given, and not by the batch's.
inline bool UsesGivenStatistics(const OpAttributes& op, bool is_test) {
  return op.Bool("use_global_stats") || (is_test && !op.Bool("trainable_statistics"));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_NORM_FACTORS_H_
