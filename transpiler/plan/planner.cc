#include "transpiler/plan/planner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "ops/gradient_links.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/op_types.h"
#include "ops/recurrent_state.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/input_error.h"
#include "transpiler/plan/accumulator.h"
#include "transpiler/plan/bias_sites.h"
#include "transpiler/plan/eligibility.h"
#include "transpiler/plan/folded_weights.h"
#include "transpiler/plan/gradient_sites.h"
#include "transpiler/plan/integer_bias.h"
#include "transpiler/plan/rules.h"
#include "transpiler/plan/scale_training.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/shortcuts.h"
#include "transpiler/plan/site_table.h"
#include "transpiler/plan/slot_specs.h"
#include "transpiler/plan/target.h"
#include "transpiler/plan/target_check.h"
#include "transpiler/plan/validate_plan.h"

namespace fixpoint {
namespace {

// The op types whose inputs may be rewired. If outputs are quantized, any op may read them.
absl::flat_hash_set<std::string> LinkedTypes(const Program& program, const QuantConfig& config,
                                             const Target& target) {
  absl::flat_hash_set<std::string> types;
  for (const Target::QuantizedOp& op : target.ops()) {
    types.insert(op.types().begin(), op.types().end());
  }
  if (BiasBitsOf(target)) {
    for (std::string& type : TypesWith([](const OpTraits& op) { return op.sum.has_value(); })) {
      types.insert(std::move(type));
    }
  }
  const bool any_type =
      std::any_of(target.outputs().begin(), target.outputs().end(),
                  [&config](const Target::ObservedOutputs& outputs) {
                    return outputs.quantize() && (config.observe_outputs() || outputs.always());
                  });
  for (int b = 0; any_type && b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) types.insert(op.type());
  }
  return types;
}

// Whether an activation and a weight are quantized.
bool IsProduct(const std::vector<SlotPlan>& slots) {
  const auto has = [&slots](SlotRole::Role role) {
    return std::any_of(slots.begin(), slots.end(),
                       [role](const SlotPlan& slot) { return slot.role == role; });
  };
  return has(SlotRole::WEIGHT) && has(SlotRole::ACTIVATION);
}

// Whether an argument of an op with a hidden state is a bias, which stands beside its matrices.
bool IsBesideMatrices(const Argument& argument) {
  const Variable* const variable = argument.variable();
  return HasStateBits(argument.op()) && variable != nullptr && variable->tensor() != nullptr &&
         variable->tensor()->dims_size() == 1;
}

// A slot that stays float, and the rule that says so.
struct SkippedSlot {
  std::string name;
  std::string rule;
};

// Decides about an op all of whose slots rules skip. The last rule is that of the decision; others
// stand beside their slots.
void DecideToSkip(const std::vector<SkippedSlot>& slots, Decision& decision) {
  decision.reason = Reason::kSkippedByRule;
  decision.rule = slots.back().rule;
  decision.detail = absl::StrJoin(slots, ", ", [&](std::string* out, const SkippedSlot& slot) {
    absl::StrAppend(out, slot.name);
    if (slot.rule != decision.rule) absl::StrAppend(out, " (", slot.rule, ")");
  });
}

// Whether the configuration sets more than the target, so that errors name the configuration.
bool AsksForMore(const QuantConfig& config) {
  return config.has_weights() || config.has_activations() || config.rules_size() > 0 ||
         config.observe_outputs() || config.also_quantize_size() > 0 || config.has_schedule() ||
         config.has_gradients();
}

class Planner {
 public:
  Planner(const Program& program, const QuantConfig& config, const Target& target,
          const QuantizerTable& quantizers, absl::string_view config_name,
          std::vector<const TargetCheck*> checks)
      : program_(program),
        config_(config),
        config_name_(config_name),
        target_(target),
        checks_(std::move(checks)),
        rules_(config, config.observe_outputs() || AlwaysQuantizesOutputs(target)),
        types_(program),
        links_(program, LinkedTypes(program, config, target)),
        eligibility_(program, config, target),
        shortcuts_(EraOf(program), &types_, &eligibility_),
        quantizers_(quantizers),
        specs_(program, config, target, quantizers),
        sites_(links_, &plan_) {
    for (const Target::ObservedOutputs& outputs : target.outputs()) {
      if (!config.observe_outputs() && !outputs.always()) continue;
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
  // The action for the shortcut of a residual only: quantized as another op reads it. Nothing, with
  // the reason in `decision`, if no input is one.
  std::optional<Target::QuantizedOp> EntryOfShortcut(const Op& op, const Target::QuantizedOp& entry,
                                                     Decision& decision);
  // Adds the sites of gradients, if the configuration asks for them.
  absl::Status PlanGradientsAsked();
  // Decides how the hidden state of an op is quantized, if it has one; false likewise.
  bool PlanState(const Op& op, const Target::QuantizedOp& entry, const Rules::OpMatches& matches,
                 const std::vector<SlotPlan>& slots, Decision& decision);
  // How each slot of an entry will be quantized; false, with the reason in `decision`, if the op
  // stays float.
  bool PlanSlots(const Op& op, const OpSchema& schema, const Target::QuantizedOp& entry,
                 const Rules::OpMatches& matches, std::vector<SlotPlan>& slots, Decision& decision);

  // Why a check of the target keeps an op float whose inputs would be quantized like that; nothing
  // if none does, or one refuses the program.
  std::optional<std::string> WhyKeptByCheck(const Op& op, absl::Span<const SlotPlan> inputs);

  // Why the scale that a spec trains cannot be trained if a slot reads the value; nothing if it
  // can, or if there is none to train.
  std::optional<std::string> WhyNotTrained(const Argument& argument, const QuantSpec& spec);

  // Unifies the specs of inputs that share a scale: signed if one of them is.
  void ShareSpec(std::vector<SlotPlan>& slots);

  const Program& program_;
  const QuantConfig& config_;
  const absl::string_view config_name_;
  const Target& target_;
  const std::vector<const TargetCheck*> checks_;
  std::vector<absl::Status> refusals_;
  Rules rules_;
  OpTypes types_;
  GradientLinks links_;
  Eligibility eligibility_;
  Shortcuts shortcuts_;
  std::optional<ScaleTraining> scale_training_;  // created for the first trained scale
  const QuantizerTable& quantizers_;
  SlotSpecs specs_;
  // Of op types whose outputs this configuration, or the target always, observes or quantizes.
  absl::flat_hash_map<std::string, const Target::ObservedOutputs*> target_outputs_;
  Plan plan_;
  SiteTable sites_;
};

absl::StatusOr<Plan> Planner::Make() {
  RETURN_IF_ERROR(InputError(config_name_, rules_.CheckForm()));
  plan_.target = target_.name();
  plan_.is_inference = !links_.has_gradients();
  // Ops whose outputs are quantized for readers that do not already read them quantized: once all
  // inputs are planned.
  std::vector<std::pair<const Op*, Rules::OpMatches>> quantized_outputs;
  for (const Op& op : program_.ops()) {
    const OpSchema* schema = types_.SchemaOf(op);
    if (schema == nullptr || !types_.IsForward(op)) continue;
    const bool has_outputs = config_.observe_outputs() || target_outputs_.contains(op.type());
    if (schema->quantizable_inputs().empty() &&
        (!has_outputs || schema->quantizable_outputs().empty())) {
      continue;
    }
    Rules::OpMatches matches = rules_.Match(op);
    if (!schema->quantizable_inputs().empty()) PlanOp(op, *schema, matches);
    const auto outputs = target_outputs_.find(op.type());
    if (outputs == target_outputs_.end()) continue;
    if (outputs->second->quantize()) {
      quantized_outputs.emplace_back(&op, std::move(matches));
    } else {
      PlanOutputs(op, *schema, *outputs->second, matches);
    }
  }
  for (const auto& [op, matches] : quantized_outputs) {
    PlanOutputs(*op, *types_.SchemaOf(*op), *target_outputs_.at(op->type()), matches);
  }
  if (const std::optional<int> bits = BiasBitsOf(target_)) {
    PlanBiases(*bits, {program_, quantizers_, rules_, eligibility_, types_, links_, sites_, plan_,
                       [this](const Op& op, absl::Span<const SlotPlan> inputs) {
                         return WhyKeptByCheck(op, inputs);
                       }});
  }
  const absl::Status gradients = PlanGradientsAsked();
  std::vector<absl::Status> complaints = specs_.complaints();
  complaints.insert(complaints.end(), refusals_.begin(), refusals_.end());
  plan_.schedule = config_.schedule();
  for (absl::Status status : {CheckSchedule(plan_.schedule, target_), rules_.CheckAllMatched(),
                              specs_.CheckFcWeights(), gradients}) {
    if (!status.ok()) complaints.push_back(std::move(status));
  }
  if (complaints.empty()) {
    FindTrainedScales(quantizers_, EraOf(target_), &plan_);
    RETURN_IF_ERROR(ValidatePlan(plan_, program_, links_, target_, quantizers_));
    return std::move(plan_);
  }
  const absl::Status all(
      complaints.front().code(),
      absl::StrJoin(complaints, "\n", [](std::string* out, const absl::Status& complaint) {
        absl::StrAppend(out, std::string(complaint.message()));
      }));
  return AsksForMore(config_) ? InputError(config_name_, all) : all;
}

absl::Status Planner::PlanGradientsAsked() {
  if (!config_.has_gradients() || plan_.is_inference) return absl::OkStatus();
  const QuantSpec spec = CompleteGradientSpec(config_.gradients(), quantizers_);
  const absl::Status status = CheckGradientSpec(spec, target_, quantizers_);
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat("gradients: ", std::string(status.message())));
  }
  PlanGradients(spec, {EraOf(program_), quantizers_, links_, types_, sites_, plan_});
  return absl::OkStatus();
}

void Planner::PlanOp(const Op& op, const OpSchema& schema, const Rules::OpMatches& matches) {
  Decision decision;
  decision.op = &op;
  std::vector<SlotPlan> slots;
  const Target::QuantizedOp* entry = eligibility_.ChooseEntry(op, matches, decision);
  std::optional<Target::QuantizedOp> of_shortcut;
  if (entry != nullptr && entry->inputs(0).role() == SlotRole::RESIDUAL) {
    of_shortcut = EntryOfShortcut(op, *entry, decision);
    entry = of_shortcut ? &*of_shortcut : nullptr;
  }
  if (entry != nullptr) {
    decision.quantized = PlanSlots(op, schema, *entry, matches, slots, decision);
    if (decision.quantized) {
      if (IsProduct(slots) && !HasStateBits(op)) shortcuts_.AddProduct(op);
      if (of_shortcut) {
        decision.detail = absl::StrCat(entry->inputs(0).name(), " alone, as the residual");
      }
      const std::string shared = entry->shared_scale() ? sites_.NameOfSharedScale(op) : "";
      for (const SlotPlan& slot : slots) {
        if (entry->shared_scale()) specs_.CheckObserver(slot.spec, "inputs", op);
        if (slot.role == SlotRole::WEIGHT) specs_.NoteWeight(op, slot.spec);
        sites_.AddReader(
            sites_.SiteOf(*slot.argument->value(), slot.role, slot.spec, shared, false),
            *slot.argument);
      }
    }
  }
  // What a rule asked for in vain.
  if (!decision.quantized && decision.rule.empty()) decision.rule = rules_.AskingRule(matches);
  plan_.decisions.push_back(std::move(decision));
}

std::optional<Target::QuantizedOp> Planner::EntryOfShortcut(const Op& op,
                                                            const Target::QuantizedOp& entry,
                                                            Decision& decision) {
  decision.reason = Reason::kNoResidual;
  const Argument* const shortcut = shortcuts_.Find(op, decision.detail);
  if (shortcut == nullptr) return std::nullopt;
  Target::QuantizedOp of_shortcut = entry;
  of_shortcut.clear_inputs();
  Target::Slot& slot = *of_shortcut.add_inputs();
  slot.set_name(std::string(shortcut->slot_name()));
  slot.set_role(SlotRole::ACTIVATION);
  if (const Site* site = sites_.FirstOf(*shortcut->value())) {
    *of_shortcut.mutable_activations() = site->spec;
  } else if (shortcuts_.ProductOf(*shortcut) == nullptr) {
    decision.detail = absl::StrCat(shortcut->slot_name(), " is ", shortcut->name(),
                                   ", which no other op reads quantized");
    return std::nullopt;
  }
  return of_shortcut;
}

bool Planner::PlanState(const Op& op, const Target::QuantizedOp& entry,
                        const Rules::OpMatches& matches, const std::vector<SlotPlan>& slots,
                        Decision& decision) {
  const bool multiplies_codes = std::any_of(slots.begin(), slots.end(), [](const SlotPlan& slot) {
    return slot.role == SlotRole::WEIGHT;
  });
  if (!multiplies_codes || !HasStateBits(op)) return true;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), EraOf(program_));
  if (!attributes) {
    decision.reason = Reason::kConditionNotMet;
    return false;
  }
  if (std::optional<std::string> why = WhyStateLeavesRange(*attributes)) {
    decision.reason = Reason::kStateUnbounded;
    decision.detail = *std::move(why);
    return false;
  }
  decision.state_bits = rules_.StateBits(matches).value_or(entry.state_bits());
  return true;
}

bool Planner::PlanSlots(const Op& op, const OpSchema& schema, const Target::QuantizedOp& entry,
                        const Rules::OpMatches& matches, std::vector<SlotPlan>& slots,
                        Decision& decision) {
  std::string asking_rule;  // the last one that requests a slot; "" for none
  std::vector<SkippedSlot> skipped;
  std::vector<std::string> remarks;
  for (const Target::Slot& slot : entry.inputs()) {
    const Rules::SlotAction action = rules_.Resolve(matches, slot.name());
    if (slot.role() == SlotRole::ADDEND && !action.asks_for_slot) continue;
    if (action.skip) {
      skipped.push_back({slot.name(), action.rule});
      remarks.push_back(absl::StrCat(slot.name(), " stays float (", action.rule, ")"));
      continue;
    }
    for (const Argument* argument : op.Inputs(slot.name())) {
      if (IsBesideMatrices(*argument)) continue;
      std::optional<Reason> why_not = eligibility_.WhyNotValue(*argument, decision.detail);
      SlotPlan planned{argument, SlotRole::ACTIVATION, {}, action.asks ? action.rule : ""};
      if (!why_not.has_value() && IsForStatistics(op) &&
          eligibility_.IsWeight(*argument->value())) {
        remarks.push_back(absl::StrCat(slot.name(), " stays float, for the statistics"));
        continue;
      }
      if (!why_not.has_value()) {
        if (eligibility_.IsWeight(*argument->value())) planned.role = SlotRole::WEIGHT;
        planned.spec = specs_.Default(
            op, planned.role,
            planned.role == SlotRole::WEIGHT ? entry.weights() : entry.activations());
        MergeSpec(action.spec, &planned.spec);
        why_not = specs_.Complete(schema, planned, decision.detail);
      }
      if (why_not.has_value()) {
        decision.reason = *why_not;
        return false;
      }
      if (action.asks) asking_rule = action.rule;
      if (IsUnsignedRightOperand(planned)) {
        remarks.push_back(
            absl::StrCat(slot.name(), " has unsigned codes, so the product is not lowered"));
      }
      slots.push_back(std::move(planned));
    }
  }
  if (slots.empty()) {
    if (!skipped.empty()) DecideToSkip(skipped, decision);
    return false;
  }
  if (entry.shared_scale()) ShareSpec(slots);
  if (std::optional<std::string> too_narrow =
          WhyTooNarrow(target_, quantizers_, op, EraOf(program_), slots)) {
    decision.reason = Reason::kAccumulatorTooNarrow;
    decision.detail = *std::move(too_narrow);
    return false;
  }
  if (const Op* gradient = links_.UncertainGradientOf(op)) {
    decision.reason = Reason::kGradientNotUnique;
    decision.detail = Describe(*gradient);
    return false;
  }
  for (const SlotPlan& slot : slots) {
    if (std::optional<std::string> why_not = WhyNotTrained(*slot.argument, slot.spec)) {
      decision.reason = Reason::kScaleNotTrainable;
      decision.detail =
          absl::StrCat(slot.argument->slot_name(), " is ", slot.argument->name(), ": ", *why_not);
      return false;
    }
  }
  if (std::optional<std::string> why_not = WhyKeptByCheck(op, slots)) {
    decision.reason = Reason::kKeptByCheck;
    decision.detail = *std::move(why_not);
    return false;
  }
  if (!PlanState(op, entry, matches, slots, decision)) return false;
  if (decision.state_bits != 0) {
    remarks.push_back(absl::StrCat("its state has codes of ", decision.state_bits, " bits"));
  }
  decision.reason = asking_rule.empty() ? Reason::kByTarget : Reason::kByRule;
  decision.rule = asking_rule;
  decision.detail = absl::StrJoin(remarks, ", ");
  return true;
}

std::optional<std::string> Planner::WhyKeptByCheck(const Op& op,
                                                   absl::Span<const SlotPlan> inputs) {
  for (const TargetCheck* check : checks_) {
    const CheckVerdict verdict = check->Check(program_, op, inputs);
    if (verdict.kind() == CheckVerdict::Kind::kQuantize) continue;
    std::string why = absl::StrCat(check->name(), ": ", verdict.why());
    if (verdict.kind() == CheckVerdict::Kind::kKeepFloat) return why;
    refusals_.push_back(absl::FailedPreconditionError(
        absl::StrCat(Describe(op), ": target ", target_.name(), " refuses it: ", why)));
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> Planner::WhyNotTrained(const Argument& argument, const QuantSpec& spec) {
  const Quantizer* const quantizer = quantizers_.Find(spec.quantizer());
  if (plan_.is_inference || quantizer == nullptr || !quantizer->has_own_gradient()) {
    return std::nullopt;
  }
  if (!scale_training_.has_value()) scale_training_.emplace(program_);
  return scale_training_->WhyNot(argument, links_.GradientsOf(argument.op()));
}

void Planner::ShareSpec(std::vector<SlotPlan>& slots) {
  const bool any_signed = std::any_of(slots.begin(), slots.end(), [](const SlotPlan& slot) {
    return slot.spec.signedness() == QuantSpec::SIGNED;
  });
  for (SlotPlan& slot : slots) {
    if (any_signed) slot.spec.set_signedness(QuantSpec::SIGNED);
    specs_.Check(slot);
  }
  for (const SlotPlan& slot : slots) specs_.CheckShared(slots[0], slot);
}

std::vector<const Argument*> Planner::ReadersOfOutput(const Value& value) {
  std::vector<const Argument*> readers;
  std::string detail;
  for (const Argument* reader : value.readers()) {
    const Op& op = reader->op();
    const OpSchema* schema = types_.SchemaOf(op);
    const bool quantizes = schema != nullptr && schema->quant_op() != QuantOp::kNone;
    if (!types_.IsForward(op) || !op.sub_blocks().empty() || quantizes ||
        sites_.HasReader(*reader) || eligibility_.WhySkipped(op, detail).has_value() ||
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
  if (IsForStatistics(op)) return;
  for (const std::string& slot : schema.quantizable_outputs()) {
    const Rules::SlotAction action = rules_.Resolve(matches, slot);
    if (action.skip) continue;
    for (const Argument* argument : op.Outputs(slot)) {
      std::string detail;
      if (eligibility_.WhyNotValue(*argument, detail).has_value()) continue;
      const Value& value = *argument->value();
      std::vector<const Argument*> readers;
      if (outputs.quantize()) {
        readers = ReadersOfOutput(value);
        if (readers.empty()) continue;
      }
      SlotPlan planned{argument, SlotRole::ACTIVATION, {}, action.asks ? action.rule : ""};
      planned.spec = specs_.Default(op, planned.role, outputs.spec());
      MergeSpec(action.spec, &planned.spec);
      if (specs_.Complete(schema, planned, detail)) continue;
      const QuantSpec& spec = planned.spec;
      if (!outputs.quantize()) {
        specs_.CheckObserver(spec, "outputs", op);
      } else {
        const auto is_untrained = [&](const Argument* reader) {
          return WhyNotTrained(*reader, spec).has_value();
        };
        readers.erase(std::remove_if(readers.begin(), readers.end(), is_untrained), readers.end());
        if (readers.empty()) continue;
      }
      Site& site = sites_.SiteOf(value, SlotRole::ACTIVATION, spec, "", !outputs.quantize());
      for (const Argument* reader : readers) sites_.AddReader(site, *reader);
    }
  }
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const Program& program, const QuantConfig& config,
                              const Target& target, const QuantizerTable& quantizers,
                              absl::string_view config_name, const CheckTable& checks) {
  ASSIGN_OR_RETURN(std::vector<const TargetCheck*> named, checks.Of(target));
  return Planner(program, config, target, quantizers, config_name, std::move(named)).Make();
}

}  // namespace fixpoint
