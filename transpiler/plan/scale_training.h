// What a program needs for training a scale: gradients of the quantized values, and an optimizer.

#ifndef FIXPOINT_TRANSPILER_PLAN_SCALE_TRAINING_H_
#define FIXPOINT_TRANSPILER_PLAN_SCALE_TRAINING_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

// Where a gradient op writes, or would write, the gradient of what a forward op's slot reads.
struct GradientOutput {
  const Op* op;
  std::string slot;
  int index;
};

class ScaleTraining {
 public:
  // REQUIRES: the program outlives this object, and is not edited before WhyNot was last asked.
  explicit ScaleTraining(const Program& program);

  // Why the scale of what `reader`, a slot of a forward op, reads cannot be trained; nothing if it
  // can. `gradients` are the gradient ops of the forward op.
  std::optional<std::string> WhyNot(const Argument& reader, absl::Span<const Op* const> gradients);
  // The outputs for the gradient of `reader`, in program order.
  static std::vector<GradientOutput> GradientOutputs(const Argument& reader,
                                                     absl::Span<const Op* const> gradients,
                                                     Era era);

  // The last op of block 0 with the Optimize bit, and the learning rate of the first that has one.
  // Null if WhyNot reports it.
  const Op* last_optimizer() const { return last_optimizer_; }
  const Variable* learning_rate() const { return learning_rate_; }

 private:
  std::optional<std::string> WhyNotOutput(const Argument& reader, const GradientOutput& output);

  const Era era_;
  const Op* last_optimizer_ = nullptr;
  const Variable* learning_rate_ = nullptr;
  // Ops that a gradient passes on its way to the optimizer, which do not apply to a scale.
  std::optional<std::string> obstacle_;
};

// The quantize op, which dequantizes too, whose result readers read: directly, or as a schedule
// selects it. Null if no op writes the value.
const Op* FusedQuantizeOp(const Value& read);

// The gradient ops of each forward op that a plan rewires.
absl::flat_hash_map<const Op*, std::vector<const Op*>> GradientsByForwardOp(const Plan& plan);

// Sets has_own_gradient and the trained_inputs of a plan's sites.
void FindTrainedScales(const QuantizerTable& quantizers, Era era, Plan* plan);

// Error (kFailedPrecondition): a site of the plan trains its scale, and cannot.
absl::Status CheckTrainedScales(const Program& program, const Plan& plan);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_SCALE_TRAINING_H_
