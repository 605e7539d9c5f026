#include "ops/gradient_links.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/gradient_slots.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace fixpoint {

GradientLinks::GradientLinks(const Program& program,
                             const absl::flat_hash_set<std::string>& forward_types,
                             StandsFor stands_for)
    : matcher_(EraOf(program), GradientMatcher::Identity::kValue, std::move(stands_for)) {
  OpTypes types(program);
  std::vector<std::pair<const Op*, const std::string*>> gradients;
  bool recomputes = false;
  for (const Op& op : program.ops()) {
    const std::string& forward_type = types.ForwardTypeOf(op);
    has_gradients_ |= !forward_type.empty() || (op.role() & kBackward) != 0;
    if (!op.sub_blocks().empty()) continue;
    recomputes |=
        forward_type.empty() && (op.role() & kBackward) != 0 && forward_types.count(op.type()) > 0;
    if (!forward_type.empty()) {
      if (forward_types.count(forward_type) > 0) gradients.emplace_back(&op, &forward_type);
    } else if ((op.role() & (kBackward | kOptimize)) == 0 && forward_types.count(op.type()) > 0) {
      matcher_.AddForward(op);
    }
  }
  for (const auto& [gradient, forward_type] : gradients) Link(*gradient, *forward_type);
  if (recomputes) FindRecomputed(program, types);
}

void GradientLinks::FindRecomputed(const Program& program, OpTypes& types) {
  using TypeAndInputs = std::pair<int, std::vector<const void*>>;
  absl::flat_hash_map<const Value*, const Value*> first_of;
  // The type of an op and what it reads: values, but variables for what is persistable, whose state
  // may have changed; recomputed values stand for those that were computed first.
  const auto what_is_read = [&first_of](const Op& op) {
    TypeAndInputs read = {op.type_id(), {}};
    for (const Argument* argument : op.inputs()) {
      const Variable* variable = argument->variable();
      const auto first = first_of.find(argument->value());
      if (variable != nullptr && variable->persistable()) {
        read.second.push_back(variable);
      } else {
        read.second.push_back(first == first_of.end() ? argument->value() : first->second);
      }
    }
    return read;
  };
  // The forward ops by what they read, and by each persistable variable that they read.
  struct Alike {
    const Op* first = nullptr;
    std::vector<const Op*> unmarked;
  };
  absl::flat_hash_map<TypeAndInputs, Alike> alike;
  absl::flat_hash_map<TypeAndInputs, std::vector<const Op*>> sharing;
  const auto each_persistable = [](const Op& op, auto visit) {
    for (const Argument* argument : op.inputs()) {
      const Variable* variable = argument->variable();
      if (variable != nullptr && variable->persistable())
        visit(TypeAndInputs{op.type_id(), {variable}});
    }
  };
  const auto mark = [this](std::vector<const Op*>& ops, const Op& recomputation) {
    for (const Op* op : ops) recomputed_.try_emplace(op, &recomputation);
    ops.clear();
  };
  const auto stands_for = [&first_of](const Op& op, const Op& first) {
    for (const Argument* output : op.outputs()) {
      const auto outputs = first.Outputs(output->slot_name());
      if (output->value() != nullptr && output->index() < static_cast<int>(outputs.size())) {
        first_of.try_emplace(output->value(), outputs[output->index()]->value());
      }
    }
  };
  for (const Op& op : program.ops()) {
    if (!op.sub_blocks().empty() || op.inputs().empty()) continue;
    const bool is_forward = types.IsForward(op);
    if (!is_forward && ((op.role() & kBackward) == 0 || !types.ForwardTypeOf(op).empty())) {
      continue;
    }
    Alike& found = alike[what_is_read(op)];
    if (found.first != nullptr) stands_for(op, *found.first);
    if (is_forward) {
      if (found.first == nullptr) found.first = &op;
      found.unmarked.push_back(&op);
      each_persistable(op, [&](const TypeAndInputs& read) { sharing[read].push_back(&op); });
    } else if (found.first != nullptr) {
      mark(found.unmarked, op);
    } else {
      each_persistable(op, [&](const TypeAndInputs& read) { mark(sharing[read], op); });
    }
  }
}

void GradientLinks::Link(const Op& gradient, const std::string& forward_type) {
  const GradientMatcher::SlotMask repeated = matcher_.Repeated(gradient);
  if (repeated == 0) return;
  const GradientMatcher::Ops* const alike = matcher_.FindAlike(gradient, repeated);
  if (alike == nullptr) {
    malformed_.try_emplace(forward_type, &gradient);
    return;
  }
  // Optimizer ops are never rewired, even with a gradient op's type.
  const Op* const found =
      (gradient.role() & kOptimize) == 0 ? matcher_.ForwardAmong(*alike, gradient) : nullptr;
  if (found != nullptr) {
    gradients_[found].push_back(&gradient);
  } else {
    NoteUncertain(gradient, forward_type);
  }
}

void GradientLinks::NoteUncertain(const Op& gradient, const std::string& forward_type) {
  // An op that computes the same again has other outputs.
  GradientMatcher::SlotMask slots = matcher_.RepeatedInputs(gradient);
  if (slots == 0) slots = matcher_.Repeated(gradient);
  std::vector<Uncertain>& of_type = uncertain_[forward_type];
  auto uncertain = std::find_if(of_type.begin(), of_type.end(), [&](const Uncertain& other) {
    return other.example->type_id() == gradient.type_id() && other.slots == slots;
  });
  if (uncertain == of_type.end()) uncertain = of_type.insert(of_type.end(), {&gradient, slots, {}});
  uncertain->by_variables.try_emplace(
      matcher_.KeyOfGradient(gradient, slots, GradientMatcher::Identity::kVariable), &gradient);
  for (const Argument* argument : gradient.inputs()) {
    absl::string_view slot = argument->slot_name();
    if (!absl::ConsumeSuffix(&slot, kGradientSuffix)) continue;
    uncertain_by_output_.try_emplace(
        {forward_type, std::string(slot), std::string(WithoutGradientSuffix(argument->name()))},
        &gradient);
  }
}

absl::Span<const Op* const> GradientLinks::GradientsOf(const Op& forward) const {
  const auto it = gradients_.find(&forward);
  if (it == gradients_.end()) return {};
  return it->second;
}

std::vector<const Argument*> GradientLinks::RepeatsOf(const Argument& input) const {
  std::vector<const Argument*> repeats;
  for (const Op* gradient : GradientsOf(input.op())) {
    for (const RepeatedSlot& slot : matcher_.SlotsOf(*gradient)) {
      if (slot.source_is_output || slot.source != input.slot_name()) continue;
      const auto arguments = gradient->Inputs(slot.name);
      if (input.index() < static_cast<int>(arguments.size())) {
        repeats.push_back(arguments[input.index()]);
      }
    }
  }
  return repeats;
}

const Op* GradientLinks::UncertainGradientOf(const Op& forward) const {
  const auto recomputed = recomputed_.find(&forward);
  if (recomputed != recomputed_.end()) return recomputed->second;
  const auto malformed = malformed_.find(forward.type());
  if (malformed != malformed_.end()) return malformed->second;
  if (const auto of_type = uncertain_.find(forward.type()); of_type != uncertain_.end()) {
    for (const Uncertain& uncertain : of_type->second) {
      const auto it = uncertain.by_variables.find(matcher_.KeyOfForward(
          *uncertain.example, forward, uncertain.slots, GradientMatcher::Identity::kVariable));
      if (it != uncertain.by_variables.end()) return it->second;
    }
  }
  if (uncertain_by_output_.empty()) return nullptr;
  for (const Argument* output : forward.outputs()) {
    const auto it = uncertain_by_output_.find(
        {forward.type(), std::string(output->slot_name()), std::string(output->name())});
    if (it != uncertain_by_output_.end()) return it->second;
  }
  return nullptr;
}

}  // namespace fixpoint
