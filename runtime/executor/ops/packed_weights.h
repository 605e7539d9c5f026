// The step that packs weights for a kernel. If the weights are constants (constants.h) it runs
// once.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/packing.h"

namespace fixpoint::executor {

// Adds the step, which calls pack(run, packed), and returns what it writes. T is the type of the
// weights.
template <typename T, typename Pack>
Buffer AddPacking(OpPlanner& op, const std::shared_ptr<kernels::PacksWeights<T>>& kernel,
                  std::vector<Buffer> reads, Pack pack) {
  const Buffer packed = op.Scratch("packed", VarType::UINT8, kernel->packed_bytes());
  op.AddStep({std::move(reads),
              {packed},
              [=, pack = std::move(pack)](const StepContext& run) {
                pack(run, run.Of<uint8_t>(packed));
                return absl::OkStatus();
              },
              "",
              0,
              "pack weights"});
  return packed;
}
// The same for weights as they are.
template <typename T>
Buffer AddPacking(OpPlanner& op, const std::shared_ptr<kernels::PacksWeights<T>>& kernel,
                  Buffer weights) {
  return AddPacking<T>(op, kernel, {weights},
                       [=](const StepContext& run, absl::Span<uint8_t> packed) {
                         kernel->Pack(run.Of<T>(weights), packed);
                       });
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_
