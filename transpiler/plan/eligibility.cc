#include "transpiler/plan/eligibility.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/program/attributes.h"
#include "proto/program/op.h"
#include "transpiler/plan/target.h"

namespace fixpoint {
namespace {

// Whether a quantizer, or an op that dequantizes its codes, wrote it.
bool IsQuantized(const Value& value) {
  const OpSchema* schema = value.op() == nullptr ? nullptr : FindOpSchema(value.op()->type());
  return schema != nullptr && schema->quant_op() != QuantOp::kNone &&
         schema->quant_op() != QuantOp::kObserve;
}

}  // namespace

std::optional<std::string> FindUnmetCondition(const Op& op, const Target::QuantizedOp& entry,
                                              Era era) {
  for (const Target::Condition& condition : entry.when()) {
    const OpDesc::Attr* attr = AttrOrDefault(op.desc(), condition.attr(), era);
    const bool is_met =
        attr != nullptr && (condition.has_equals() ? StringValue(*attr) == condition.equals()
                                                   : BoolValue(*attr) == condition.is());
    if (!is_met) return condition.attr();
  }
  return std::nullopt;
}

Eligibility::Eligibility(const Program& program, const QuantConfig& config, const Target& target)
    : config_(config), target_(target), era_(EraOf(program)) {
  for (const Target::QuantizedOp& op : target.ops()) {
    for (const std::string& type : op.types()) entries_[type].push_back(&op);
  }
}

const Target::QuantizedOp* Eligibility::ChooseEntry(const Op& op, const Rules::OpMatches& matches,
                                                    Decision& decision) {
  const auto it = entries_.find(op.type());
  if (it == entries_.end()) {
    decision.reason = Reason::kNotInTarget;
    return nullptr;
  }
  if (const std::optional<Reason> skipped = WhySkipped(op, decision.detail)) {
    decision.reason = *skipped;
    return nullptr;
  }
  // If a type has several entries, the first that fits counts; if none does, the last one's reason.
  for (const Target::QuantizedOp* entry : it->second) {
    std::string detail;
    const std::optional<Reason> why_not = WhyNotEntry(op, *entry, matches, detail);
    if (!why_not.has_value()) return entry;
    decision.reason = *why_not;
    decision.detail = std::move(detail);
  }
  return nullptr;
}

std::optional<Reason> Eligibility::WhySkipped(const Op& op, std::string& detail) const {
  const OpDesc::Attr* const skips = AttrOrDefault(op.desc(), "skip_quant", era_);
  if (skips != nullptr && BoolValue(*skips) == true) return Reason::kSkippedByAttribute;
  const std::string scope = NameScope(op.desc());
  for (const std::string& skipped : target_.skip_scopes()) {
    if (!ScopeContains(scope, skipped)) continue;
    detail = scope;
    return Reason::kSkippedByScope;
  }
  return std::nullopt;
}

std::optional<Reason> Eligibility::WhyNotValue(const Argument& argument,
                                               std::string& detail) const {
  if (argument.value() == nullptr) {
    detail = std::string(argument.slot_name());
    return Reason::kMissingInput;
  }
  const Variable& variable = *argument.variable();
  detail = absl::StrCat(argument.slot_name(), " is ", argument.name());
  if (variable.desc() == nullptr) return Reason::kUndeclared;
  const VarType& type = variable.desc()->type();
  if (type.type() == VarType::SELECTED_ROWS) return Reason::kSelectedRows;
  if (type.type() != VarType::LOD_TENSOR) return Reason::kTensorArray;
  if (variable.tensor() == nullptr) return Reason::kUnknownShape;
  if (variable.tensor()->data_type() != VarType::FP32) {
    absl::StrAppend(&detail, ", ", VarType::Type_Name(variable.tensor()->data_type()));
    return Reason::kNotFloat;
  }
  if (IsQuantized(*argument.value())) return Reason::kAlreadyQuantized;
  return std::nullopt;
}

bool Eligibility::IsAskedFor(const Op& op, const Rules::OpMatches& matches) const {
  const auto& types = config_.also_quantize();
  if (std::find(types.begin(), types.end(), op.type()) != types.end()) return true;
  return std::any_of(matches.rules.begin(), matches.rules.end(), [this](int rule) {
    return config_.rules(rule).has_spec() || config_.rules(rule).has_state_bits();
  });
}

std::optional<Reason> Eligibility::WhyNotEntry(const Op& op, const Target::QuantizedOp& entry,
                                               const Rules::OpMatches& matches,
                                               std::string& detail) {
  if (std::optional<std::string> unmet = FindUnmetCondition(op, entry, era_)) {
    detail = *std::move(unmet);
    return Reason::kConditionNotMet;
  }
  int weights = 0;
  std::string quantized;  // an input that is quantized
  for (const Target::Slot& slot : entry.inputs()) {
    if (slot.role() == SlotRole::ADDEND) continue;
    const auto arguments = op.Inputs(slot.name());
    if (arguments.empty()) {
      detail = slot.name();
      return Reason::kMissingInput;
    }
    for (const Argument* argument : arguments) {
      if (argument->value() == nullptr) {
        detail = slot.name();
        return Reason::kMissingInput;
      }
      const bool is_weight = parameters_.IsWeight(*argument->value());
      weights += is_weight;
      if (IsQuantized(*argument->value())) {
        quantized = absl::StrCat(slot.name(), " is ", argument->name());
      }
      if (slot.role() == SlotRole::WEIGHT && !is_weight) {
        detail = absl::StrCat(slot.name(), " is ", argument->name());
        return IsQuantized(*argument->value()) ? Reason::kAlreadyQuantized : Reason::kNoWeight;
      }
      if (is_weight && (entry.no_weight() || slot.role() == SlotRole::ACTIVATION)) {
        detail = absl::StrCat(slot.name(), " is ", argument->name());
        return Reason::kHasWeight;
      }
    }
  }
  const bool lacks_weight = entry.needs_weight() && weights == 0;
  if (!lacks_weight && (!entry.on_request() || IsAskedFor(op, matches))) return std::nullopt;
  if (!quantized.empty()) {
    detail = std::move(quantized);
    return Reason::kAlreadyQuantized;
  }
  return lacks_weight ? Reason::kNoWeight : Reason::kOnRequest;
}

}  // namespace fixpoint
