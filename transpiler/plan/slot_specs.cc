#include "transpiler/plan/slot_specs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/dims.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/quantizers/power_of_two_steps.h"
#include "proto/program/op.h"
#include "proto/wire/deterministic_bytes.h"
#include "transpiler/plan/formula_facts.h"
#include "transpiler/plan/rules.h"
#include "transpiler/plan/target.h"
#include "transpiler/plan/validate_plan.h"

namespace fixpoint {

namespace {

// Whether an op is a product of matrices.
bool IsFullyConnected(const Op& op) {
  const std::optional<ProductTrait>& product = TraitsOf(op).product;
  return product && !product->gives_images();
}

bool IsRightOperand(const Argument& argument) {
  const std::optional<ProductTrait>& product = TraitsOf(argument.op()).product;
  return product && argument.slot_name() == product->weight;
}

// The rule that asks for a spec, as a report names it.
std::string ByRule(const SlotPlan& slot) {
  return slot.rule.empty() ? ""
                           : absl::StrCat(", ", ReasonCode(Reason::kByRule), " (", slot.rule, ")");
}

// "block 0, op 3 (mul): Y is w".
std::string PlaceOf(const SlotPlan& slot) {
  return absl::StrCat(Describe(slot.argument->op()), ": ", slot.argument->slot_name(), " is ",
                      slot.argument->name(), ByRule(slot));
}

// Whether all extents are known, and an int64 holds how many elements that makes: a range of a
// channel is found from them, and groups of inputs are shares of them.
bool IsCountable(const VarType::TensorDesc& tensor) {
  const absl::StatusOr<int64_t> count = ElementCount(tensor.dims());
  return count.ok() && *count != kUnknownDim;
}

// The target's form, which is for quantizers that have it; another has one form alone, or is
// refused with it.
QuantSpec::Form DefaultForm(const Quantizer& quantizer, QuantSpec::Form of_target, Era era) {
  std::optional<QuantSpec::Form> only;
  for (const QuantizerRecipe& recipe : quantizer.recipes()) {
    if (!Includes(recipe.eras, era)) continue;
    if (recipe.form == of_target || only.value_or(recipe.form) != recipe.form) return of_target;
    only = recipe.form;
  }
  return only.value_or(of_target);
}

}  // namespace

bool IsUnsignedRightOperand(const SlotPlan& slot) {
  return slot.spec.signedness() == QuantSpec::UNSIGNED &&
         slot.spec.scheme() == QuantSpec::SYMMETRIC && IsRightOperand(*slot.argument);
}

QuantSpec SlotSpecs::Default(const Op& op, SlotRole::Role role, const QuantSpec& of_op) const {
  const bool is_weight = role == SlotRole::WEIGHT;
  QuantSpec spec = is_weight ? target_.weights() : target_.activations();
  spec.clear_form();
  MergeSpec(is_weight ? config_.weights() : config_.activations(), &spec);
  MergeSpec(of_op, &spec);
  if (is_weight && IsFullyConnected(op)) MergeSpec(config_.fc_weights(), &spec);
  return spec;
}

std::optional<Reason> SlotSpecs::Complete(const OpSchema& schema, SlotPlan& slot,
                                          std::string& detail) {
  const Argument& argument = *slot.argument;
  QuantSpec& spec = slot.spec;
  const Quantizer* quantizer = quantizers_.Find(spec.quantizer());
  if (!spec.has_form()) {
    const bool is_weight = slot.role == SlotRole::WEIGHT;
    const QuantSpec::Form form = (is_weight ? target_.weights() : target_.activations()).form();
    spec.set_form(quantizer == nullptr ? form : DefaultForm(*quantizer, form, EraOf(target_)));
  }
  if (quantizer != nullptr) {
    if (!spec.has_granularity()) spec.set_granularity(quantizer->granularity());
    if (!spec.has_scheme()) spec.set_scheme(quantizer->scheme());
    if (AbilitiesOf(target_, slot.role).power_of_two_steps() &&
        CanHavePowerOfTwoSteps(*quantizer)) {
      spec.mutable_parameters()->insert({kPowerOfTwoStepsAttr, 1});
    }
  }
  detail = absl::StrCat(argument.slot_name(), " is ", argument.name());
  const auto is_never_negative = [&] {
    const bool of_value = never_negative_.Holds(*argument.value());
    return quantizer == nullptr
               ? of_value
               : QuantizesNoNegatives(*quantizer, spec, slot.role, EraOf(target_), of_value);
  };
  if (spec.signedness() == QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE) {
    const bool is_unsigned =
        spec.scheme() == QuantSpec::AFFINE || (!IsRightOperand(argument) && is_never_negative());
    spec.set_signedness(is_unsigned ? QuantSpec::UNSIGNED : QuantSpec::SIGNED);
  } else if (spec.signedness() == QuantSpec::UNSIGNED && spec.scheme() == QuantSpec::SYMMETRIC &&
             !is_never_negative()) {
    if (never_negative_.Holds(*argument.value())) {
      absl::StrAppend(&detail, ", and quantizer ", spec.quantizer(), " computes from it what it ",
                      "quantizes");
    }
    return Reason::kMayBeNegative;
  }
  if (spec.granularity() != QuantSpec::PER_CHANNEL) {
    spec.clear_axis();
  } else {
    const VarType::TensorDesc& tensor = *argument.variable()->tensor();
    if (!spec.has_axis()) {
      if (slot.role == SlotRole::ACTIVATION) {
        ComplainOfChannels(slot);
        return Reason::kAxisUnknown;
      }
      const std::optional<int> axis = schema.WeightAxis(argument.op(), argument.slot_name(), era_);
      if (!axis.has_value()) return Reason::kAxisUnknown;
      spec.set_axis(*axis);
    }
    const std::optional<int64_t> channels = ChannelsOf(tensor, spec);
    if (!channels) {
      absl::StrAppend(&detail, ", axis ", spec.axis());
      return Reason::kAxisUnknown;
    }
    if (*channels <= 0 || !IsCountable(tensor)) return Reason::kUnknownShape;
    if (quantizer != nullptr && !CheckAxis(target_, slot.role, *quantizer, spec).ok()) {
      absl::StrAppend(&detail, ", axis ", spec.axis());
      return Reason::kAxisUnknown;
    }
  }
  Check(slot);
  return std::nullopt;
}

void SlotSpecs::NoteWeight(const Op& op, const QuantSpec& spec) {
  if (!config_.fc_weights().has_quantizer() || !IsFullyConnected(op)) return;
  const bool is_taken = spec.quantizer() == config_.fc_weights().quantizer();
  (is_taken ? is_fc_quantizer_taken_ : is_fc_quantizer_replaced_) = true;
}

absl::Status SlotSpecs::CheckFcWeights() const {
  if (is_fc_quantizer_taken_ || !is_fc_quantizer_replaced_) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "fc_weights: no fully connected layer has weights of the quantizer ",
      config_.fc_weights().quantizer(), ", because rules name another; leave one of them out"));
}

std::string SlotSpecs::QuantizersOf(QuantSpec::Granularity granularity, SlotRole::Role role) const {
  std::vector<std::string> names;
  for (const auto& quantizer : quantizers_.all()) {
    if (quantizer->granularity() != granularity || RoundsByChance(*quantizer)) continue;
    if (role == SlotRole::ACTIVATION && !CanBeForActivations(*quantizer, EraOf(target_))) continue;
    names.emplace_back(quantizer->name());
  }
  return absl::StrJoin(names, ", ");
}

void SlotSpecs::Check(const SlotPlan& slot) {
  const QuantSpec& spec = slot.spec;
  if (!checked_.insert(absl::StrCat(slot.role, DeterministicBytes(spec))).second) return;
  const absl::Status status = CheckQuantizer(target_, slot.role, spec, quantizers_);
  if (status.ok()) return;
  const Quantizer* const quantizer = quantizers_.Find(spec.quantizer());
  const bool is_of_others = quantizer != nullptr && spec.granularity() != quantizer->granularity();
  complaints_.emplace_back(
      status.code(), absl::StrCat(PlaceOf(slot), ": ", std::string(status.message()),
                                  is_of_others ? "; want one of " : "",
                                  is_of_others ? QuantizersOf(spec.granularity(), slot.role) : ""));
}

void SlotSpecs::ComplainOfChannels(const SlotPlan& slot) {
  if (!checked_.insert(absl::StrCat("channels|", DeterministicBytes(slot.spec))).second) return;
  complaints_.push_back(absl::InvalidArgumentError(absl::StrCat(
      PlaceOf(slot), ": quantizer ", slot.spec.quantizer(),
      " has a scale for each channel, and which axis of an activation has them is not known; "
      "want one of ",
      QuantizersOf(QuantSpec::PER_TENSOR, SlotRole::ACTIVATION))));
}

void SlotSpecs::CheckShared(const SlotPlan& first, const SlotPlan& other) {
  if (MayShareScale(first.spec, other.spec)) return;
  const auto said = [](const SlotPlan& slot) {
    return absl::StrCat(slot.argument->slot_name(), " (", slot.argument->name(), ByRule(slot), ")");
  };
  complaints_.push_back(absl::InvalidArgumentError(
      absl::StrCat(Describe(first.argument->op()), ": ", said(first), " and ", said(other),
                   " share one scale, and are to be quantized in two ways; want one spec")));
}

void SlotSpecs::CheckObserver(const QuantSpec& spec, absl::string_view slots, const Op& op) {
  const auto observes = [this](const Quantizer& quantizer) {
    return FindObserver(quantizer, era_, EraOf(target_)) != nullptr;
  };
  const Quantizer* quantizer = quantizers_.Find(spec.quantizer());
  if (quantizer == nullptr || observes(*quantizer)) return;
  const std::string what = absl::StrCat("the ", slots, " of ", op.type(), " are observed");
  if (!checked_.insert(absl::StrCat(what, "|", spec.quantizer())).second) return;
  std::vector<std::string> observing;
  for (const auto& other : quantizers_.all()) {
    if (observes(*other)) observing.emplace_back(other->name());
  }
  complaints_.push_back(absl::FailedPreconditionError(
      absl::StrCat("target ", target_.name(), ": ", what, ", and quantizer ", spec.quantizer(),
                   " has no op for that; want ", absl::StrJoin(observing, " or "))));
}

}  // namespace fixpoint
