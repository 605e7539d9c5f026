#include "transpiler/plan/scale_training.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/gradient_slots.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "transpiler/plan/schedule.h"

namespace fixpoint {
namespace {

// Ops that all gradients pass between the backward pass and the optimizer: sums over workers, and
// the scaling of mixed precision.
bool TakesInGradients(const Op& op) {
  if ((op.role() & (kBackward | kOptimize)) == 0) return false;
  for (const char* type : {"allreduce", "c_reduce_", "reducescatter", "check_finite"}) {
    if (absl::StrContains(op.type(), type)) return true;
  }
  return false;
}

const GradientSchema* FindGradient(const Op& forward, const Op& gradient, Era era) {
  const OpSchema* schema = FindOpSchema(forward.type());
  return schema == nullptr ? nullptr : FindGradientSchema(*schema, gradient.type(), era);
}

}  // namespace

ScaleTraining::ScaleTraining(const Program& program) : era_(EraOf(program)) {
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      const bool optimizes = (op.role() & kOptimize) != 0;
      const Argument* rate = optimizes ? op.Input("LearningRate") : nullptr;
      if (!obstacle_.has_value() && TakesInGradients(op)) {
        obstacle_ = absl::StrCat(Describe(op), " stands between gradients and parameters");
      } else if (!obstacle_.has_value() && b > 0 && rate != nullptr) {
        obstacle_ = absl::StrCat(Describe(op), " updates parameters in a block that an op runs");
      }
      if (b > 0 || !optimizes) continue;
      last_optimizer_ = &op;
      if (learning_rate_ == nullptr && rate != nullptr) learning_rate_ = rate->variable();
    }
  }
}

std::vector<GradientOutput> ScaleTraining::GradientOutputs(const Argument& reader,
                                                           absl::Span<const Op* const> gradients,
                                                           Era era) {
  std::vector<GradientOutput> outputs;
  for (const Op* gradient : gradients) {
    const GradientSchema* schema = FindGradient(reader.op(), *gradient, era);
    if (schema == nullptr) continue;
    for (const GradientSchema::Slot& slot : schema->outputs) {
      if (!slot.is_gradient || slot.source_is_output || slot.source != reader.slot_name()) continue;
      outputs.push_back({gradient, slot.name, reader.index()});
    }
  }
  return outputs;
}

std::optional<std::string> ScaleTraining::WhyNot(const Argument& reader,
                                                 absl::Span<const Op* const> gradients) {
  if (obstacle_.has_value()) return obstacle_;
  if (learning_rate_ == nullptr) return "no optimizer op of block 0 has a LearningRate";
  if (learning_rate_->desc() == nullptr) {
    return absl::StrCat("no block declares the LearningRate \"", learning_rate_->name(), "\"");
  }
  if (reader.op().block().index() != 0) return "an op that runs blocks runs it";
  for (const Op* gradient : gradients) {
    if (FindGradient(reader.op(), *gradient, era_) == nullptr) {
      return absl::StrCat(Describe(*gradient), " is a gradient of its gradient");
    }
  }
  const std::vector<GradientOutput> outputs = GradientOutputs(reader, gradients, era_);
  if (outputs.empty()) {
    return absl::StrCat("no gradient op computes ", std::string(reader.slot_name()),
                        kGradientSuffix);
  }
  for (const GradientOutput& output : outputs) {
    if (std::optional<std::string> why_not = WhyNotOutput(reader, output)) return why_not;
  }
  return std::nullopt;
}

std::optional<std::string> ScaleTraining::WhyNotOutput(const Argument& reader,
                                                       const GradientOutput& output) {
  const Op& gradient = *output.op;
  if (gradient.block().index() != 0 || !gradient.IsBefore(*last_optimizer_)) {
    return absl::StrCat(Describe(gradient), " does not run before the optimizer in block 0");
  }
  const auto& slots = gradient.desc().outputs();
  if (std::count_if(slots.begin(), slots.end(), [&output](const OpDesc::Var& slot) {
        return slot.parameter() == output.slot;
      }) > 1) {
    return absl::StrCat(Describe(gradient), " has slot ", output.slot, " twice");
  }
  const auto written = gradient.Outputs(output.slot);
  if (output.index < static_cast<int>(written.size())) {
    const Variable* variable = written[output.index]->variable();
    if (variable != nullptr && variable->desc() == nullptr) {
      return absl::StrCat("no block declares \"", variable->name(), "\"");
    }
  }
  // A slot that repeats it reads the value that the forward op read.
  const std::vector<RepeatedSlot> slots_read =
      RepeatedSlots(gradient.type(), reader.op().desc(), era_);
  const bool repeats =
      std::any_of(slots_read.begin(), slots_read.end(), [&](const RepeatedSlot& slot) {
        return !slot.source_is_output && slot.source == reader.slot_name() &&
               static_cast<int>(gradient.Inputs(slot.name).size()) > reader.index();
      });
  if (!repeats && reader.variable()->values().size() > 1) {
    return absl::StrCat(Describe(gradient), " does not repeat it, and \"",
                        reader.variable()->name(), "\" is written more than once");
  }
  return std::nullopt;
}

const Op* FusedQuantizeOp(const Value& read) {
  if (read.op() == nullptr || read.op()->type() != kSelectFromStep) return read.op();
  const Argument* quantized = read.op()->Input("X");
  return quantized == nullptr || quantized->value() == nullptr ? nullptr : quantized->value()->op();
}

absl::flat_hash_map<const Op*, std::vector<const Op*>> GradientsByForwardOp(const Plan& plan) {
  absl::flat_hash_map<const Op*, std::vector<const Op*>> gradients;
  for (const auto& [forward, gradient] : plan.gradients) gradients[forward].push_back(gradient);
  return gradients;
}

void FindTrainedScales(const QuantizerTable& quantizers, Era era, Plan* plan) {
  for (Site& site : plan->sites) {
    if (plan->is_inference || site.observe || site.role == SlotRole::BIAS) continue;
    const Quantizer* const quantizer = quantizers.Find(site.spec.quantizer());
    site.has_own_gradient = quantizer != nullptr && quantizer->has_own_gradient();
    site.trained_inputs = TrainedInputs(quantizers, site.spec, era);
  }
}

absl::Status CheckTrainedScales(const Program& program, const Plan& plan) {
  if (std::none_of(plan.sites.begin(), plan.sites.end(),
                   [](const Site& site) { return site.has_own_gradient; })) {
    return absl::OkStatus();
  }
  ScaleTraining training(program);
  auto gradients = GradientsByForwardOp(plan);
  for (const Site& site : plan.sites) {
    if (!site.has_own_gradient) continue;
    const auto wrong = [&site](const auto&... parts) {
      return absl::FailedPreconditionError(
          absl::StrCat("\"", site.value->variable().name(), "\": quantizer ", site.spec.quantizer(),
                       " trains its scale, and ", parts..., "; want another quantizer"));
    };
    if (!site.shared_scale.empty()) return wrong("it shares a scale");
    for (const Argument* reader : site.readers) {
      const std::optional<std::string> why_not = training.WhyNot(*reader, gradients[&reader->op()]);
      if (why_not.has_value()) return wrong(*why_not);
    }
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
