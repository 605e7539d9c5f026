// The step that packs weights for a kernel. If the weights are constants (constants.h) it runs
// once.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_

#include <cstdint>
#include <memory>

#include "runtime/executor/op_planner.h"
#include "runtime/kernels/packing.h"

namespace fixpoint::executor {

// Adds the step, and returns what it writes. T is the type of the weights.
template <typename T>
Buffer AddPacking(OpPlanner& op, const std::shared_ptr<kernels::PacksWeights<T>>& kernel,
                  Buffer weights) {
  const Buffer packed = op.Scratch("packed", VarType::UINT8, kernel->packed_bytes());
  op.AddStep({{weights},
              {packed},
              [=](const StepContext& run) {
                kernel->Pack(run.Of<T>(weights), run.Of<uint8_t>(packed));
                return absl::OkStatus();
              },
              "",
              0,
              "pack weights"});
  return packed;
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_
