#include "transpiler/plan/gradient_links.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"

namespace fixpoint {
namespace {

// What an op reads in some of its slots, slot by slot, with a null after each.
template <typename Item, typename Get>
std::vector<Item> Read(const Op& op, const std::vector<std::string>& slots, Get get) {
  std::vector<Item> items;
  for (const std::string& slot : slots) {
    for (const Argument* argument : op.Inputs(slot)) items.push_back(get(*argument));
    items.push_back(nullptr);
  }
  return items;
}

std::vector<const Variable*> VariablesRead(const Op& op, const std::vector<std::string>& slots) {
  return Read<const Variable*>(op, slots, [](const Argument& a) { return a.variable(); });
}

// "y" for "y@GRAD" and for "y@GRAD@RENAME@block0@1".
absl::string_view WithoutGradientSuffix(absl::string_view name) {
  const size_t suffix = name.find(kGradientSuffix);
  return suffix == absl::string_view::npos ? name : name.substr(0, suffix);
}

}  // namespace

GradientLinks::GradientLinks(const Program& program,
                             const absl::flat_hash_set<std::string>& forward_types,
                             StandsFor stands_for)
    : stands_for_(std::move(stands_for)) {
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
      forward_ops_[op.type()].push_back(&op);
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
  const auto forward = forward_ops_.find(forward_type);
  if (forward == forward_ops_.end()) return;
  // The slots that the gradient op repeats; for this purpose each forward op of a type has the same
  // input slots, but a slot may be missing if it is empty.
  std::vector<std::string> slots;
  const OpSchema* schema = FindOpSchema(forward_type);
  for (const OpDesc::Var& slot : gradient.desc().inputs()) {
    const bool repeats =
        slot.arguments_size() > 0 &&
        (schema == nullptr
             ? !forward->second.front()->Inputs(slot.parameter()).empty()
             : std::any_of(schema->inputs().begin(), schema->inputs().end(),
                           [&](const SlotSchema& s) { return s.name == slot.parameter(); }));
    if (!repeats) continue;
    if (std::find(slots.begin(), slots.end(), slot.parameter()) != slots.end()) {
      malformed_.try_emplace(forward_type, &gradient);
      return;
    }
    slots.push_back(slot.parameter());
  }
  if (slots.empty()) return;
  const Signature signature(forward_type, std::move(slots));
  // Optimizer ops are never rewired, even with a gradient op's type.
  const bool is_optimizer = (gradient.role() & kOptimize) != 0;
  const Op* found = is_optimizer ? nullptr : FindForward(gradient, signature);
  if (found != nullptr) {
    gradients_[found].push_back(&gradient);
    return;
  }
  uncertain_.emplace(std::make_pair(forward_type, VariablesRead(gradient, signature.second)),
                     &gradient);
  for (const Argument* argument : gradient.inputs()) {
    absl::string_view slot = argument->slot_name();
    if (!absl::ConsumeSuffix(&slot, kGradientSuffix)) continue;
    uncertain_by_output_.try_emplace(
        {forward_type, std::string(slot), std::string(WithoutGradientSuffix(argument->name()))},
        &gradient);
  }
  if (std::find(uncertain_signatures_.begin(), uncertain_signatures_.end(), signature) ==
      uncertain_signatures_.end()) {
    uncertain_signatures_.push_back(signature);
  }
}

GradientLinks::Values GradientLinks::ValuesRead(const Op& op,
                                                const std::vector<std::string>& slots) const {
  return Read<const Value*>(op, slots, [this](const Argument& argument) {
    const auto other = stands_for_.find(argument.value());
    return other == stands_for_.end() ? argument.value() : other->second;
  });
}

const Op* GradientLinks::FindForward(const Op& gradient, const Signature& signature) {
  const auto [index, is_new] = by_values_.try_emplace(signature);
  if (is_new) {
    for (const Op* op : forward_ops_[signature.first]) {
      index->second[ValuesRead(*op, signature.second)].ops.push_back(op);
    }
  }
  const auto it = index->second.find(ValuesRead(gradient, signature.second));
  if (it == index->second.end()) return nullptr;
  AlikeOps& alike = it->second;
  if (alike.ops.size() == 1) return alike.ops.front();
  if (alike.by_output.empty()) {
    for (const Op* op : alike.ops) {
      for (const Argument* output : op->outputs()) {
        alike.by_output[{output->slot_name(), output->index(), output->name()}].push_back(op);
      }
    }
  }
  // The one whose output's gradient the op reads.
  const Op* found = nullptr;
  for (const Argument* argument : gradient.inputs()) {
    const absl::string_view slot = argument->slot_name();
    if (!absl::EndsWith(slot, kGradientSuffix)) continue;
    const auto ops =
        alike.by_output.find({absl::StripSuffix(slot, kGradientSuffix), argument->index(),
                              WithoutGradientSuffix(argument->name())});
    if (ops == alike.by_output.end()) continue;
    for (const Op* op : ops->second) {
      if (found != nullptr && op != found) return nullptr;
      found = op;
    }
  }
  return found;
}

absl::Span<const Op* const> GradientLinks::GradientsOf(const Op& forward) const {
  const auto it = gradients_.find(&forward);
  if (it == gradients_.end()) return {};
  return it->second;
}

std::vector<const Argument*> GradientLinks::RepeatsOf(const Argument& input) const {
  std::vector<const Argument*> repeats;
  for (const Op* gradient : GradientsOf(input.op())) {
    const auto arguments = gradient->Inputs(input.slot_name());
    if (input.index() < static_cast<int>(arguments.size())) {
      repeats.push_back(arguments[input.index()]);
    }
  }
  return repeats;
}

const Op* GradientLinks::UncertainGradientOf(const Op& forward) const {
  const auto recomputed = recomputed_.find(&forward);
  if (recomputed != recomputed_.end()) return recomputed->second;
  const auto malformed = malformed_.find(forward.type());
  if (malformed != malformed_.end()) return malformed->second;
  for (const auto& [type, slots] : uncertain_signatures_) {
    if (type != forward.type()) continue;
    const auto it = uncertain_.find(std::make_pair(type, VariablesRead(forward, slots)));
    if (it != uncertain_.end()) return it->second;
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
