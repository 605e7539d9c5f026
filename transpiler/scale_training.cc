#include "transpiler/scale_training.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"

namespace fixpoint {
namespace {

// Ops that all gradients go through between the backward pass and the optimizer: sums over workers,
// and the scaling of mixed precision. No op of theirs would take in the gradient of a scale.
bool TakesInGradients(const Op& op) {
  if ((op.role() & (kBackward | kOptimize)) == 0) return false;
  for (const char* type : {"allreduce", "reducescatter", "check_finite"}) {
    if (absl::StrContains(op.type(), type)) return true;
  }
  return false;
}

}  // namespace

ScaleTraining::ScaleTraining(const Program& program) {
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      const bool optimizes = (op.role() & kOptimize) != 0;
      const Argument* rate = optimizes ? op.Input("LearningRate") : nullptr;
      if (obstacle_ == nullptr && (TakesInGradients(op) || (b > 0 && rate != nullptr))) {
        obstacle_ = &op;
      }
      if (b > 0 || !optimizes) continue;
      last_optimizer_ = &op;
      if (learning_rate_ == nullptr && rate != nullptr) learning_rate_ = rate->variable();
    }
  }
}

std::vector<GradientOutput> ScaleTraining::GradientOutputs(const Argument& reader,
                                                           absl::Span<const Op* const> gradients) {
  std::vector<GradientOutput> outputs;
  const OpSchema* forward = FindOpSchema(reader.op().type());
  if (forward == nullptr) return outputs;
  for (const Op* gradient : gradients) {
    for (const GradientSchema& schema : forward->gradients()) {
      if (schema.type != gradient->type()) continue;
      for (const GradientSchema::Slot& slot : schema.outputs) {
        if (!slot.is_gradient || slot.source_is_output || slot.source != reader.slot_name())
          continue;
        outputs.push_back({gradient, slot.name, reader.index()});
      }
      break;
    }
  }
  return outputs;
}

std::optional<std::string> ScaleTraining::WhyNot(const Argument& reader,
                                                 absl::Span<const Op* const> gradients) const {
  if (obstacle_ != nullptr) {
    return absl::StrCat(Describe(*obstacle_), " stands between gradients and parameters");
  }
  if (learning_rate_ == nullptr) return "no optimizer op of block 0 has a LearningRate";
  if (reader.op().block().index() != 0) return "an op that runs blocks runs it";
  if (GradientOutputs(reader, gradients).empty()) {
    return absl::StrCat("no gradient op computes ", std::string(reader.slot_name()),
                        kGradientSuffix);
  }
  return std::nullopt;
}

}  // namespace fixpoint
