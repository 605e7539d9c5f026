#include "ops/quantizer_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/quantizers/text_quantizer.h"
#include "proto/program/attributes.h"

namespace fixpoint {

#define FIXPOINT_QUANTIZER(name) std::unique_ptr<Quantizer> Make##name();
#include "ops/quantizers/all_quantizers.inc"
#undef FIXPOINT_QUANTIZER

QuantizerTable::QuantizerTable() {
#define FIXPOINT_QUANTIZER(name) quantizers_.push_back(Make##name());
#include "ops/quantizers/all_quantizers.inc"
#undef FIXPOINT_QUANTIZER
  for (std::unique_ptr<Quantizer>& quantizer : BuiltInTextQuantizers()) {
    quantizers_.push_back(std::move(quantizer));
  }
}

namespace {

// Whether a quantizer that trains a state meets the requirements of GradientOps and UpdateOps.
bool CanTrain(const Quantizer& quantizer) {
  for (const QuantizerRecipe& recipe : quantizer.recipes()) {
    if (!recipe.dequantize_op.empty()) return false;
    for (const QuantizerState& state : recipe.state) {
      if (state.is_trained && state.input.empty() && state.decides.empty()) return false;
    }
  }
  QuantSpec spec;
  spec.set_bits(8);  // like the specs that ops are made for
  for (const Era era : {Era::kFluid, Era::kPaddle2}) {
    const QuantizerUse use{spec, SlotRole::ACTIVATION, std::nullopt, era};
    if (quantizer.GradientOps(use).empty() || quantizer.UpdateOps(use).empty() ||
        !quantizer.SummaryOps(spec, era).empty()) {
      return false;
    }
  }
  return quantizer.observers().empty();
}

bool IsTrained(const QuantizerRecipe& recipe) {
  return std::any_of(recipe.state.begin(), recipe.state.end(),
                     [](const QuantizerState& state) { return state.is_trained; });
}

}  // namespace

absl::Status QuantizerTable::Add(std::unique_ptr<Quantizer> quantizer) {
  if (Find(quantizer->name()) != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is a quantizer \"", quantizer->name(), "\" already"));
  }
  const auto recipes = quantizer->recipes();
  if (std::any_of(recipes.begin(), recipes.end(), IsTrained) && !CanTrain(*quantizer)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "quantizer ", quantizer->name(), " trains a state; want gradient and update ops, recipes ",
        "that are fused and read the state, and neither observers nor summary ops"));
  }
  quantizers_.push_back(std::move(quantizer));
  return absl::OkStatus();
}

const Quantizer* QuantizerTable::Find(absl::string_view name) const {
  for (const auto& quantizer : quantizers_) {
    if (quantizer->name() == name) return quantizer.get();
  }
  return nullptr;
}

QuantizerTable::Match QuantizerTable::FindByQuantizeOp(const OpDesc& op) const {
  const OpDesc::Attr* const named = FindAttr(op, kQuantizerAttr);
  const Quantizer* const quantizer = named == nullptr ? nullptr : Find(named->s());
  if (quantizer == nullptr) return FindByQuantizeOp(op.type());
  for (const QuantizerRecipe& recipe : quantizer->recipes()) {
    if (recipe.quantize_op == op.type()) return {quantizer, &recipe};
  }
  return FindByQuantizeOp(op.type());
}

QuantizerTable::Match QuantizerTable::FindByQuantizeOp(absl::string_view op_type) const {
  for (const auto& quantizer : quantizers_) {
    for (const QuantizerRecipe& recipe : quantizer->recipes()) {
      if (recipe.quantize_op == op_type) return {quantizer.get(), &recipe};
    }
  }
  return {};
}

QuantizerTable::Match QuantizerTable::FindByObserveOp(absl::string_view op_type) const {
  for (const auto& quantizer : quantizers_) {
    for (const QuantizerRecipe& recipe : quantizer->observers()) {
      if (recipe.quantize_op == op_type) return {quantizer.get(), &recipe};
    }
  }
  return {};
}

std::vector<std::string> TrainedInputs(const QuantizerTable& quantizers, const QuantSpec& spec,
                                       Era era) {
  const Quantizer* quantizer = quantizers.Find(spec.quantizer());
  const QuantizerRecipe* recipe =
      quantizer == nullptr ? nullptr : FindRecipe(*quantizer, spec, era);
  std::vector<std::string> slots;
  if (recipe == nullptr) return slots;
  for (const QuantizerState& state : recipe->state) {
    if (!state.is_trained) continue;
    const std::string& slot = state.input.empty() ? state.decides : state.input;
    if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(slot);
  }
  return slots;
}

}  // namespace fixpoint
