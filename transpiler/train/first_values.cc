#include "transpiler/train/first_values.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "ops/quantizers/formula_ops.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

using Names = absl::flat_hash_set<std::string>;

bool ReducesAll(const OpDesc& op) {
  const OpDesc::Attr* const attr = FindAttr(op, "reduce_all");
  return attr != nullptr && BoolValue(*attr).value_or(false);
}

// Whether the ops read nothing of the value but its smallest and its largest element.
bool ReadExtremesAlone(const std::vector<OpDesc>& ops) {
  Names magnitudes;
  for (const OpDesc& op : ops) {
    bool reads_value = false;
    bool reads_magnitude = false;
    for (const OpDesc::Var& slot : op.inputs()) {
      for (const std::string& name : slot.arguments()) {
        reads_value |= name == Quantizer::kValue;
        reads_magnitude |= magnitudes.contains(name);
      }
    }
    if (reads_value && op.type() == "abs") {
      magnitudes.insert(op.outputs(0).arguments(0));
    } else if (reads_value || reads_magnitude) {
      const bool may_be_min = !reads_magnitude && op.type() == "reduce_min";
      if ((op.type() != "reduce_max" && !may_be_min) || !ReducesAll(op)) return false;
    }
  }
  return true;
}

void AddStates(const std::vector<QuantizerState>& states, FirstValues* values) {
  for (const QuantizerState& state : states) {
    if (!OpsThatWrite(values->ops, {state.name}).empty()) values->states.push_back(state.name);
  }
}

}  // namespace

bool HoldsRange(const Quantizer& quantizer, const QuantizerRecipe& recipe) {
  return quantizer.scheme() == QuantSpec::SYMMETRIC &&
         std::any_of(recipe.state.begin(), recipe.state.end(),
                     [](const QuantizerState& state) { return state.is_scale; });
}

FirstValues FirstValuesOfRange(const Site& site, const Quantizer& quantizer,
                               const QuantizerRecipe& recipe, Era era) {
  const auto& states = recipe.state;
  if (site.spec.granularity() == QuantSpec::PER_CHANNEL || HoldsRange(quantizer, recipe)) return {};
  FirstValues values;
  values.site = &site;
  // The two elements are neither a batch of samples nor of the value's shape.
  values.ops = quantizer.InitialOps({site.spec, site.role, std::nullopt, era});
  if (!ReadExtremesAlone(values.ops)) return {};
  AddStates(states, &values);
  return values;
}

FirstValues FirstValuesOfWeight(const Site& site, const Quantizer& quantizer,
                                const QuantizerRecipe& recipe, const QuantizerUse& use) {
  FirstValues values;
  values.site = &site;
  values.are_of_weight = true;
  values.ops = quantizer.InitialOps(use);
  AddStates(recipe.state, &values);
  return values;
}

}  // namespace fixpoint
