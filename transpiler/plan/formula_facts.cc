#include "transpiler/plan/formula_facts.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"

namespace fixpoint {
namespace {

using Names = absl::flat_hash_set<std::string>;

bool ReadsAny(const OpDesc& op, const Names& names) {
  return std::any_of(op.inputs().begin(), op.inputs().end(), [&names](const OpDesc::Var& slot) {
    return std::any_of(slot.arguments().begin(), slot.arguments().end(),
                       [&names](const std::string& name) { return names.contains(name); });
  });
}

void AddOutputs(const OpDesc& op, Names* names) {
  for (const OpDesc::Var& slot : op.outputs()) {
    names->insert(slot.arguments().begin(), slot.arguments().end());
  }
}

// Numbers that an op draws are added to each element alone.
bool IsOfSamples(const OpDesc& op) {
  const OpSchema* const schema = FindOpSchema(op.type());
  return schema != nullptr && (schema->traits().is_of_samples || schema->traits().draws_numbers);
}

// Whether ops compute the range from each tensor anew, so that freezing has none of an activation.
bool FindsRangeFromValue(const QuantizerForward& forward) {
  Names of_value = {Quantizer::kValue};
  for (const OpDesc& op : forward.ops) {
    if (ReadsAny(op, of_value)) AddOutputs(op, &of_value);
  }
  return std::any_of(forward.inputs.begin(), forward.inputs.end(),
                     [&](const auto& input) { return of_value.contains(input.second); });
}

// The op by which what is quantized of a sample depends on others; null if there is none.
const OpDesc* FindMixOfSamples(const QuantizerForward& forward) {
  Names of_value = {Quantizer::kValue};
  for (const OpDesc& op : forward.ops) {
    if (!ReadsAny(op, of_value)) continue;
    if (!IsOfSamples(op)) return &op;
    AddOutputs(op, &of_value);
  }
  return nullptr;
}

bool IsNeverNegative(const OpDesc& op, const Names& never_negative, Era era) {
  const OpSchema* const schema = FindOpSchema(op.type());
  if (schema == nullptr) return false;
  if (schema->NeverNegative(op, era)) return true;
  if (op.inputs().empty()) return false;
  if (!schema->KeepsSign(op, era) && !schema->KeepsRange(op, era)) return false;
  return std::all_of(op.inputs().begin(), op.inputs().end(), [&](const OpDesc::Var& slot) {
    return std::all_of(slot.arguments().begin(), slot.arguments().end(),
                       [&](const std::string& name) { return never_negative.contains(name); });
  });
}

}  // namespace

absl::Status CheckIsForActivations(const Quantizer& quantizer, const QuantSpec& spec, Era era) {
  const auto wrong = [&quantizer](const auto&... parts) {
    return absl::FailedPreconditionError(
        absl::StrCat("quantizer ", quantizer.name(), " ", parts..., "; it is for weights"));
  };
  if (FindsRangeFromValue(quantizer.Forward({spec, SlotRole::ACTIVATION, std::nullopt, era}))) {
    return wrong(
        "computes the range from each tensor and keeps none, so that there is none of an "
        "activation to freeze");
  }
  // The extents but that of the batch, so that a sample's `count` is a number.
  const QuantizerForward forward =
      quantizer.Forward({spec, SlotRole::ACTIVATION, Dims{kUnknownDim, 1}, era});
  const OpDesc* const mix = FindMixOfSamples(forward);
  if (mix == nullptr) return absl::OkStatus();
  return wrong("computes what it quantizes by ", mix->type(),
               ", which is not known to compute each sample alone: the codes of a sample would "
               "depend on the batch");
}

bool RoundsByChance(const Quantizer& quantizer) {
  const auto recipes = quantizer.recipes();
  return std::any_of(recipes.begin(), recipes.end(), [](const QuantizerRecipe& recipe) {
    const OpSchema* const schema = FindOpSchema(recipe.quantize_op);
    return schema != nullptr && schema->traits().draws_numbers;
  });
}

bool CanBeForActivations(const Quantizer& quantizer, Era era) {
  if (RoundsByChance(quantizer)) return false;
  for (const QuantizerRecipe& recipe : quantizer.recipes()) {
    if (std::any_of(recipe.state.begin(), recipe.state.end(), [](const QuantizerState& state) {
          return state.extent == QuantizerState::Extent::kElements;
        })) {
      return false;
    }
  }
  QuantSpec spec;
  spec.set_quantizer(std::string(quantizer.name()));
  spec.set_bits(quantizer.most_bits());
  spec.set_granularity(quantizer.granularity());
  spec.set_scheme(quantizer.scheme());
  if (quantizer.granularity() == QuantSpec::PER_CHANNEL) spec.set_axis(0);
  return CheckIsForActivations(quantizer, spec, era).ok();
}

bool QuantizesNoNegatives(const Quantizer& quantizer, const QuantSpec& spec, SlotRole::Role role,
                          Era era, bool of_value) {
  QuantSpec known = spec;
  if (spec.signedness() == QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE) {
    known.set_signedness(QuantSpec::SIGNED);
  }
  if (spec.granularity() == QuantSpec::PER_CHANNEL && !spec.has_axis()) known.set_axis(0);
  if (!CheckSpec(quantizer, known).ok()) return of_value;
  const QuantizerForward forward = quantizer.Forward({known, role, std::nullopt, era});
  Names never_negative;
  if (of_value) never_negative.insert(Quantizer::kValue);
  for (const QuantizerState& state : quantizer.recipes().front().state) {
    if (state.is_scale) never_negative.insert(state.name);
  }
  for (const OpDesc& op : forward.ops) {
    if (IsNeverNegative(op, never_negative, era)) AddOutputs(op, &never_negative);
  }
  return never_negative.contains(forward.quantized);
}

}  // namespace fixpoint
