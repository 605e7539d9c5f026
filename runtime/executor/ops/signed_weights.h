// Weights with one zero point, as kernels take them: signed, with a zero point for each channel.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_SIGNED_WEIGHTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_SIGNED_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/executor/op_planner.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::executor {

struct SignedWeights {
  Buffer codes;                       // INT8
  std::optional<Buffer> zero_points;  // INT32, of the output channels
};

// Adds the step that makes them of codes whose zero point `zero_point` finds in a run, where it
// reads `reads`.
SignedWeights AddSignedWeights(OpPlanner& op, Buffer codes, kernels::CodeType type,
                               std::vector<Buffer> reads,
                               std::function<float(const StepContext&)> zero_point,
                               int64_t channels);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_SIGNED_WEIGHTS_H_
