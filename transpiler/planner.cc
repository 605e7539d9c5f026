#include "transpiler/planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "proto/attributes.h"
#include "proto/deterministic_bytes.h"
#include "proto/status_macros.h"
#include "transpiler/gradient_links.h"
#include "transpiler/parameters.h"
#include "transpiler/rules.h"
#include "transpiler/target.h"

namespace fixpoint {
namespace {

// What an op's slot is to become, or why it stays float.
struct SlotPlan {
  const Argument* argument;
  QuantPlan::Role role;
  QuantSpec spec;
};

// The op types whose inputs may be rewired. Where outputs are quantized, any op may read them.
absl::flat_hash_set<std::string> LinkedTypes(const Program& program, const QuantConfig& config,
                                             const Target& target) {
  absl::flat_hash_set<std::string> types;
  for (const Target::QuantizedOp& op : target.ops()) {
    types.insert(op.types().begin(), op.types().end());
  }
  const bool any_type =
      config.observe_outputs() &&
      std::any_of(target.outputs().begin(), target.outputs().end(),
                  [](const Target::ObservedOutputs& outputs) { return outputs.quantize(); });
  for (int b = 0; any_type && b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) types.insert(op.type());
  }
  return types;
}

class Planner {
 public:
  Planner(const Program& program, const QuantConfig& config, const Target& target,
          const QuantizerTable& quantizers)
      : program_(program),
        config_(config),
        target_(target),
        quantizers_(quantizers),
        era_(EraOf(program)),
        rules_(config),
        types_(program),
        links_(program, LinkedTypes(program, config, target)) {
    for (const Target::QuantizedOp& op : target.ops()) {
      for (const std::string& type : op.types()) target_ops_[type].push_back(&op);
    }
    for (const Target::ObservedOutputs& outputs : target.outputs()) {
      for (const std::string& type : outputs.types()) target_outputs_[type] = &outputs;
    }
  }

  absl::StatusOr<Plan> Make();

 private:
  void PlanOp(const Op& op, const OpSchema& schema, const Rules::OpMatches& matches);
  void PlanOutputs(const Op& op, const OpSchema& schema, const Target::ObservedOutputs& outputs,
                   const Rules::OpMatches& matches);
  // The readers of an output that can read its quantized copy, and do not read another.
  std::vector<const Argument*> ReadersOfOutput(const Value& value);
  // What each slot of an entry becomes; false, with the reason in `decision`, where the op stays
  // float.
  bool PlanSlots(const Op& op, const OpSchema& schema, const Target::QuantizedOp& entry,
                 const Rules::OpMatches& matches, std::vector<SlotPlan>& slots, Decision& decision);
  // The entry of the target that computes this op, or why none does.
  const Target::QuantizedOp* ChooseEntry(const Op& op, const Rules::OpMatches& matches,
                                         Decision& decision);
  bool IsAskedFor(const Op& op, const Rules::OpMatches& matches) const;
  std::optional<Reason> WhySkipped(const Op& op, std::string& detail) const;
  std::optional<Reason> WhyNotEntry(const Op& op, const Target::QuantizedOp& entry,
                                    const Rules::OpMatches& matches, std::string& detail);
  // Why the value that an argument reads cannot be quantized.
  std::optional<Reason> WhyNotValue(const Argument& argument, std::string& detail) const;
  std::optional<Reason> CompleteSpec(const Argument& argument, const OpSchema& schema,
                                     QuantPlan::Role role, QuantSpec& spec, std::string& detail);
  QuantSpec DefaultSpec(QuantPlan::Role role, const QuantSpec& of_op) const;
  void CheckSpecOnce(const Argument& argument, QuantPlan::Role role, const QuantSpec& spec);
  // Complains if a quantizer cannot follow a range without quantizing, as it has to for those
  // "inputs" or "outputs" of an op.
  void CheckObserverOnce(const QuantSpec& spec, absl::string_view slots, const Op& op);
  bool IsNeverNegative(const Value& value);

  // The name of the scale that the inputs of `op` share; no other op's has it.
  std::string NameOfSharedScale(const Op& op);
  Site& SiteOf(const Value& value, QuantPlan::Role role, const QuantSpec& spec,
               const std::string& shared_scale, bool observe);
  void AddReader(Site& site, const Argument& argument);

  const Program& program_;
  const QuantConfig& config_;
  const Target& target_;
  const QuantizerTable& quantizers_;
  const Era era_;
  Rules rules_;
  OpTypes types_;
  GradientLinks links_;
  Parameters parameters_;
  absl::flat_hash_map<std::string, std::vector<const Target::QuantizedOp*>> target_ops_;
  absl::flat_hash_map<std::string, const Target::ObservedOutputs*> target_outputs_;
  absl::flat_hash_map<std::pair<const Value*, std::string>, size_t> site_of_;
  absl::flat_hash_set<const Argument*> planned_readers_;
  absl::flat_hash_set<const Op*> rewired_;
  absl::flat_hash_map<const Value*, bool> never_negative_;
  absl::flat_hash_map<std::string, int> shared_scales_;  // the last number tried for a name
  absl::flat_hash_set<std::string> taken_shared_scales_;
  absl::btree_set<std::string> checked_specs_;
  std::vector<absl::Status> complaints_;
  Plan plan_;
};

absl::StatusOr<Plan> Planner::Make() {
  RETURN_IF_ERROR(rules_.CheckForm());
  plan_.target = target_.name();
  plan_.is_inference = !links_.has_gradients();
  // Ops whose outputs are quantized for what reads them otherwise than quantized: once all inputs
  // are planned.
  std::vector<std::pair<const Op*, Rules::OpMatches>> quantized_outputs;
  for (int b = 0; b < program_.block_count(); ++b) {
    for (const Op& op : program_.block(b).ops()) {
      const OpSchema* schema = types_.SchemaOf(op);
      if (schema == nullptr || !types_.IsForward(op)) continue;
      if (schema->quantizable_inputs().empty() && schema->quantizable_outputs().empty()) continue;
      Rules::OpMatches matches = rules_.Match(op);
      if (!schema->quantizable_inputs().empty()) PlanOp(op, *schema, matches);
      if (!config_.observe_outputs()) continue;
      const auto outputs = target_outputs_.find(op.type());
      if (outputs == target_outputs_.end()) continue;
      if (outputs->second->quantize()) {
        quantized_outputs.emplace_back(&op, std::move(matches));
      } else {
        PlanOutputs(op, *schema, *outputs->second, matches);
      }
    }
  }
  for (const auto& [op, matches] : quantized_outputs) {
    PlanOutputs(*op, *types_.SchemaOf(*op), *target_outputs_.at(op->type()), matches);
  }
  if (absl::Status status = rules_.CheckAllMatched(); !status.ok()) complaints_.push_back(status);
  if (complaints_.empty()) return std::move(plan_);
  return absl::Status(complaints_.front().code(),
                      absl::StrJoin(complaints_, "\n", [](std::string* out, const absl::Status& s) {
                        absl::StrAppend(out, std::string(s.message()));
                      }));
}

bool Planner::IsAskedFor(const Op& op, const Rules::OpMatches& matches) const {
  const auto& types = config_.also_quantize();
  if (std::find(types.begin(), types.end(), op.type()) != types.end()) return true;
  return std::any_of(matches.rules.begin(), matches.rules.end(),
                     [this](int rule) { return config_.rules(rule).has_spec(); });
}

std::optional<Reason> Planner::WhyNotEntry(const Op& op, const Target::QuantizedOp& entry,
                                           const Rules::OpMatches& matches, std::string& detail) {
  for (const Target::Condition& condition : entry.when()) {
    const OpDesc::Attr* attr = AttrOrDefault(op.desc(), condition.attr(), era_);
    const bool met = attr != nullptr && (condition.has_equals() ? attr->s() == condition.equals()
                                                                : attr->b() == condition.is());
    if (!met) {
      detail = condition.attr();
      return Reason::kConditionNotMet;
    }
  }
  int weights = 0;
  for (const Target::Slot& slot : entry.inputs()) {
    if (slot.role() == Target::ADDEND) continue;
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
      if (slot.role() == Target::WEIGHT && !is_weight) {
        detail = absl::StrCat(slot.name(), " is ", argument->name());
        return Reason::kNoWeight;
      }
      if (is_weight && (entry.no_weight() || slot.role() == Target::ACTIVATION)) {
        detail = absl::StrCat(slot.name(), " is ", argument->name());
        return Reason::kHasWeight;
      }
    }
  }
  if (entry.needs_weight() && weights == 0) return Reason::kNoWeight;
  if (entry.on_request() && !IsAskedFor(op, matches)) return Reason::kOnRequest;
  return std::nullopt;
}

std::optional<Reason> Planner::WhySkipped(const Op& op, std::string& detail) const {
  if (BoolAttr(op.desc(), "skip_quant").value_or(false)) return Reason::kSkippedByAttribute;
  const std::string scope = StringAttr(op.desc(), "op_namescope").value_or("");
  for (const std::string& skipped : target_.skip_scopes()) {
    if (!ScopeContains(scope, skipped)) continue;
    detail = scope;
    return Reason::kSkippedByScope;
  }
  return std::nullopt;
}

const Target::QuantizedOp* Planner::ChooseEntry(const Op& op, const Rules::OpMatches& matches,
                                                Decision& decision) {
  const auto it = target_ops_.find(op.type());
  if (it == target_ops_.end()) {
    decision.reason = Reason::kNotInTarget;
    return nullptr;
  }
  if (const std::optional<Reason> skipped = WhySkipped(op, decision.detail)) {
    decision.reason = *skipped;
    return nullptr;
  }
  // Of several entries for a type the first that fits counts; if none does, the last one's reason.
  for (const Target::QuantizedOp* entry : it->second) {
    std::string detail;
    const std::optional<Reason> why_not = WhyNotEntry(op, *entry, matches, detail);
    if (!why_not.has_value()) return entry;
    decision.reason = *why_not;
    decision.detail = std::move(detail);
  }
  return nullptr;
}

std::optional<Reason> Planner::WhyNotValue(const Argument& argument, std::string& detail) const {
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
  const Op* writer = argument.value()->op();
  const OpSchema* schema = writer == nullptr ? nullptr : FindOpSchema(writer->type());
  if (schema != nullptr && schema->quant_op() != QuantOp::kNone &&
      schema->quant_op() != QuantOp::kObserve) {
    return Reason::kAlreadyQuantized;
  }
  return std::nullopt;
}

bool Planner::IsNeverNegative(const Value& value) {
  std::vector<const Value*> chain;
  bool is_never_negative = false;
  for (const Value* at = &value; at != nullptr && at->origin() == Value::Origin::kWrite;) {
    if (const auto known = never_negative_.find(at); known != never_negative_.end()) {
      is_never_negative = known->second;
      break;
    }
    chain.push_back(at);
    const OpSchema* schema = types_.SchemaOf(*at->op());
    if (schema == nullptr) break;
    is_never_negative = schema->never_negative();
    if (is_never_negative || !schema->KeepsRange(at->op()->desc())) break;
    const Argument* source = at->op()->Input("X");
    at = source == nullptr ? nullptr : source->value();
  }
  for (const Value* at : chain) never_negative_[at] = is_never_negative;
  return is_never_negative;
}

QuantSpec Planner::DefaultSpec(QuantPlan::Role role, const QuantSpec& of_op) const {
  const bool is_weight = role == QuantPlan::WEIGHT;
  QuantSpec spec = is_weight ? target_.weights() : target_.activations();
  MergeSpec(is_weight ? config_.weights() : config_.activations(), &spec);
  MergeSpec(of_op, &spec);
  return spec;
}

std::optional<Reason> Planner::CompleteSpec(const Argument& argument, const OpSchema& schema,
                                            QuantPlan::Role role, QuantSpec& spec,
                                            std::string& detail) {
  const Quantizer* quantizer = quantizers_.Find(spec.quantizer());
  if (quantizer != nullptr) {
    if (!spec.has_granularity()) spec.set_granularity(quantizer->granularity());
    if (!spec.has_scheme()) spec.set_scheme(quantizer->scheme());
  }
  detail = absl::StrCat(argument.slot_name(), " is ", argument.name());
  if (spec.signedness() == QuantSpec::UNSIGNED_IF_NEVER_NEGATIVE) {
    spec.set_signedness(spec.scheme() == QuantSpec::AFFINE || IsNeverNegative(*argument.value())
                            ? QuantSpec::UNSIGNED
                            : QuantSpec::SIGNED);
  } else if (spec.signedness() == QuantSpec::UNSIGNED && spec.scheme() == QuantSpec::SYMMETRIC &&
             !IsNeverNegative(*argument.value())) {
    return Reason::kMayBeNegative;
  }
  if (spec.granularity() != QuantSpec::PER_CHANNEL) {
    spec.clear_axis();
  } else {
    const VarType::TensorDesc& tensor = *argument.variable()->tensor();
    if (!spec.has_axis()) {
      const std::optional<int> axis = schema.WeightAxis(argument.op(), argument.slot_name());
      if (!axis.has_value()) return Reason::kAxisUnknown;
      spec.set_axis(*axis);
    }
    if (spec.axis() < 0 || spec.axis() >= tensor.dims_size()) {
      absl::StrAppend(&detail, ", axis ", spec.axis());
      return Reason::kAxisUnknown;
    }
    if (tensor.dims(spec.axis()) <= 0) return Reason::kUnknownShape;
    const auto& axes =
        (role == QuantPlan::WEIGHT ? target_.weight_abilities() : target_.activation_abilities())
            .axes();
    if (!axes.empty() && std::find(axes.begin(), axes.end(), spec.axis()) == axes.end()) {
      absl::StrAppend(&detail, ", axis ", spec.axis());
      return Reason::kAxisUnknown;
    }
  }
  CheckSpecOnce(argument, role, spec);
  return std::nullopt;
}

void Planner::CheckSpecOnce(const Argument& argument, QuantPlan::Role role, const QuantSpec& spec) {
  if (!checked_specs_.insert(absl::StrCat(role, DeterministicBytes(spec))).second) return;
  const Quantizer* quantizer = quantizers_.Find(spec.quantizer());
  absl::Status status;
  if (quantizer == nullptr) {
    const std::string known = absl::StrJoin(
        quantizers_.all(), ", ", [](std::string* out, const std::unique_ptr<Quantizer>& q) {
          absl::StrAppend(out, std::string(q->name()));
        });
    status = absl::InvalidArgumentError(
        absl::StrCat("there is no quantizer \"", spec.quantizer(), "\"; there are ", known));
  } else {
    status = CheckSpec(*quantizer, spec);
    if (status.ok()) {
      status = CheckAbilities(
          target_,
          role == QuantPlan::WEIGHT ? target_.weight_abilities() : target_.activation_abilities(),
          *quantizer, spec);
    }
  }
  if (status.ok()) return;
  complaints_.emplace_back(status.code(),
                           absl::StrCat(Describe(argument.op()), ": ", argument.slot_name(), " is ",
                                        argument.name(), ": ", std::string(status.message())));
}

void Planner::CheckObserverOnce(const QuantSpec& spec, absl::string_view slots, const Op& op) {
  // The observers of the older era stand in programs of both.
  const Era era = era_ == Era::kFluid ? Era::kFluid : EraOf(target_);
  const auto observes = [era](const Quantizer& quantizer) {
    return std::any_of(quantizer.observers().begin(), quantizer.observers().end(),
                       [era](const QuantizerRecipe& recipe) { return Includes(recipe.eras, era); });
  };
  const Quantizer* quantizer = quantizers_.Find(spec.quantizer());
  if (quantizer == nullptr || observes(*quantizer)) return;
  const std::string what = absl::StrCat("the ", slots, " of ", op.type(), " are observed");
  if (!checked_specs_.insert(absl::StrCat(what, "|", spec.quantizer())).second) return;
  std::vector<std::string> observing;
  for (const auto& other : quantizers_.all()) {
    if (observes(*other)) observing.emplace_back(other->name());
  }
  complaints_.push_back(absl::FailedPreconditionError(
      absl::StrCat("target ", target_.name(), ": ", what, ", and quantizer ", spec.quantizer(),
                   " has no op for that; want ", absl::StrJoin(observing, " or "))));
}

std::string Planner::NameOfSharedScale(const Op& op) {
  // Several ops may write one variable, and an op may write none.
  const std::string name(op.outputs().empty() ? op.type() : op.outputs()[0]->name());
  std::string unique = name;
  int& tries = shared_scales_[name];
  while (!taken_shared_scales_.insert(unique).second) unique = absl::StrCat(name, "_", ++tries);
  return unique;
}

Site& Planner::SiteOf(const Value& value, QuantPlan::Role role, const QuantSpec& spec,
                      const std::string& shared_scale, bool observe) {
  std::string key = absl::StrCat(DeterministicBytes(spec), "|", shared_scale, "|", observe);
  const auto [it, is_new] =
      site_of_.try_emplace(std::make_pair(&value, std::move(key)), plan_.sites.size());
  if (is_new) {
    Site site;
    site.value = &value;
    site.role = role;
    site.spec = spec;
    site.shared_scale = shared_scale;
    site.observe = observe;
    plan_.sites.push_back(std::move(site));
  }
  return plan_.sites[it->second];
}

void Planner::AddReader(Site& site, const Argument& argument) {
  site.readers.push_back(&argument);
  planned_readers_.insert(&argument);
  if (rewired_.insert(&argument.op()).second) {
    for (const Op* gradient : links_.GradientsOf(argument.op())) {
      plan_.gradients.emplace_back(&argument.op(), gradient);
    }
  }
  for (const Op* gradient : links_.GradientsOf(argument.op())) {
    const auto repeated = gradient->Inputs(argument.slot_name());
    if (argument.index() < static_cast<int>(repeated.size())) {
      site.gradient_readers.push_back(repeated[argument.index()]);
    }
  }
}

void Planner::PlanOp(const Op& op, const OpSchema& schema, const Rules::OpMatches& matches) {
  Decision decision;
  decision.op = &op;
  std::vector<SlotPlan> slots;
  if (const Target::QuantizedOp* entry = ChooseEntry(op, matches, decision)) {
    decision.quantized = PlanSlots(op, schema, *entry, matches, slots, decision);
    if (decision.quantized) {
      const std::string shared = entry->shared_scale() ? NameOfSharedScale(op) : "";
      for (const SlotPlan& slot : slots) {
        if (entry->shared_scale()) CheckObserverOnce(slot.spec, "inputs", op);
        AddReader(SiteOf(*slot.argument->value(), slot.role, slot.spec, shared, false),
                  *slot.argument);
      }
    }
  }
  plan_.decisions.push_back(std::move(decision));
}

bool Planner::PlanSlots(const Op& op, const OpSchema& schema, const Target::QuantizedOp& entry,
                        const Rules::OpMatches& matches, std::vector<SlotPlan>& slots,
                        Decision& decision) {
  bool asked_by_rule = false;
  std::vector<std::string> skipped;
  for (const Target::Slot& slot : entry.inputs()) {
    const Rules::SlotAction action = rules_.Resolve(matches, slot.name());
    if (slot.role() == Target::ADDEND && !action.asks_for_slot) continue;
    decision.rule = action.rule;
    if (action.skip) {
      decision.reason = Reason::kSkippedByRule;
      decision.detail = slot.name();
      skipped.push_back(absl::StrCat(slot.name(), " stays float (", action.rule, ")"));
      continue;
    }
    for (const Argument* argument : op.Inputs(slot.name())) {
      std::optional<Reason> why_not = WhyNotValue(*argument, decision.detail);
      SlotPlan planned{argument, QuantPlan::ACTIVATION, {}};
      if (!why_not.has_value()) {
        if (parameters_.IsWeight(*argument->value())) planned.role = QuantPlan::WEIGHT;
        planned.spec =
            DefaultSpec(planned.role,
                        planned.role == QuantPlan::WEIGHT ? entry.weights() : entry.activations());
        MergeSpec(action.spec, &planned.spec);
        why_not = CompleteSpec(*argument, schema, planned.role, planned.spec, decision.detail);
      }
      if (why_not.has_value()) {
        decision.reason = *why_not;
        return false;
      }
      asked_by_rule |= action.asks;
      slots.push_back(std::move(planned));
    }
  }
  if (slots.empty()) return false;
  if (const Op* gradient = links_.UncertainGradientOf(op)) {
    decision.reason = Reason::kGradientNotUnique;
    decision.detail = Describe(*gradient);
    return false;
  }
  decision.reason = asked_by_rule ? Reason::kByRule : Reason::kByTarget;
  decision.detail = absl::StrJoin(skipped, ", ");
  if (!asked_by_rule) decision.rule = "";
  return true;
}

std::vector<const Argument*> Planner::ReadersOfOutput(const Value& value) {
  std::vector<const Argument*> readers;
  std::string detail;
  for (const Argument* reader : value.readers()) {
    const Op& op = reader->op();
    const OpSchema* schema = types_.SchemaOf(op);
    const bool quantizes = schema != nullptr && schema->quant_op() != QuantOp::kNone;
    if (!types_.IsForward(op) || !op.sub_blocks().empty() || quantizes ||
        planned_readers_.count(reader) > 0 || WhySkipped(op, detail).has_value() ||
        links_.UncertainGradientOf(op) != nullptr ||
        rules_.Resolve(rules_.Match(op), reader->slot_name()).skip) {
      continue;
    }
    readers.push_back(reader);
  }
  return readers;
}

void Planner::PlanOutputs(const Op& op, const OpSchema& schema,
                          const Target::ObservedOutputs& outputs, const Rules::OpMatches& matches) {
  for (const std::string& slot : schema.quantizable_outputs()) {
    const Rules::SlotAction action = rules_.Resolve(matches, slot);
    if (action.skip) continue;
    for (const Argument* argument : op.Outputs(slot)) {
      std::string detail;
      if (argument->value() == nullptr || WhyNotValue(*argument, detail).has_value()) continue;
      const Value& value = *argument->value();
      std::vector<const Argument*> readers;
      if (outputs.quantize()) {
        readers = ReadersOfOutput(value);
        if (readers.empty()) continue;
      }
      QuantSpec spec = DefaultSpec(QuantPlan::ACTIVATION, outputs.spec());
      MergeSpec(action.spec, &spec);
      if (CompleteSpec(*argument, schema, QuantPlan::ACTIVATION, spec, detail)) continue;
      if (!outputs.quantize()) CheckObserverOnce(spec, "outputs", op);
      Site& site = SiteOf(value, QuantPlan::ACTIVATION, spec, "", !outputs.quantize());
      for (const Argument* reader : readers) AddReader(site, *reader);
    }
  }
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const Program& program, const QuantConfig& config,
                              const Target& target, const QuantizerTable& quantizers) {
  return Planner(program, config, target, quantizers).Make();
}

}  // namespace fixpoint
