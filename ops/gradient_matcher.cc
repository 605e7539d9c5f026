#include "ops/gradient_matcher.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ops/forward_ops.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// A hostile file with more sets of slots must not make us index its ops for each.
constexpr size_t kMostSets = 8;

// A mask has no more bits.
constexpr size_t kMostSlots = 64;

// Stands for kEmptyArgument; null ends a slot.
constexpr char kNothing = 0;

// Whether an op has one of the slots twice.
bool HasTwice(const Op& gradient, const std::vector<RepeatedSlot>& slots) {
  const auto& inputs = gradient.desc().inputs();
  for (auto input = inputs.begin(); input != inputs.end(); ++input) {
    const auto is_same = [input](const OpDesc::Var& other) {
      return other.arguments_size() > 0 && other.parameter() == input->parameter();
    };
    if (input->arguments_size() == 0 || std::none_of(std::next(input), inputs.end(), is_same)) {
      continue;
    }
    if (std::any_of(slots.begin(), slots.end(), [input](const RepeatedSlot& slot) {
          return slot.name == input->parameter();
        })) {
      return true;
    }
  }
  return false;
}

// Whether an op reads the variable, which it writes.
bool Updates(const Op& op, const Variable* written) {
  const auto inputs = op.inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [written](const Argument* input) { return input->variable() == written; });
}

}  // namespace

void GradientMatcher::AddForward(const Op& op) {
  const size_t type = op.type_id();
  if (type >= forward_ops_.size()) forward_ops_.resize(type + 1);
  forward_ops_[type].push_back(&op);
}

GradientMatcher::Form& GradientMatcher::FormOf(const Op& gradient) const {
  const size_t type = gradient.type_id();
  if (type >= forms_.size()) forms_.resize(type + 1);
  std::unique_ptr<Form>& form = forms_[type];
  if (form != nullptr) return *form;
  form = std::make_unique<Form>();
  const std::string forward_type = ForwardTypeOf(gradient.type());
  const auto forward =
      std::find_if(forward_ops_.begin(), forward_ops_.end(), [&forward_type](const auto& ops) {
        return !ops.empty() && ops.front()->type() == forward_type;
      });
  if (forward != forward_ops_.end()) {
    form->forward = &*forward;
    form->slots = RepeatedSlots(gradient.type(), forward->front()->desc(), era_);
  } else {
    OpDesc absent;
    absent.set_type(forward_type);
    form->slots = RepeatedSlots(gradient.type(), absent, era_);
  }
  if (form->slots.size() > kMostSlots) form->slots.resize(kMostSlots);
  return *form;
}

GradientMatcher::SlotMask GradientMatcher::Repeated(const Op& gradient) const {
  SlotMask mask = 0;
  SlotMask bit = 1;
  for (const RepeatedSlot& slot : FormOf(gradient).slots) {
    if (!gradient.Inputs(slot.name).empty()) mask |= bit;
    bit <<= 1;
  }
  return mask;
}

GradientMatcher::SlotMask GradientMatcher::RepeatedInputs(const Op& gradient) const {
  SlotMask mask = Repeated(gradient);
  SlotMask bit = 1;
  for (const RepeatedSlot& slot : FormOf(gradient).slots) {
    if (slot.source_is_output) mask &= ~bit;
    bit <<= 1;
  }
  return mask;
}

const void* GradientMatcher::IdentityOf(const Argument& argument, const RepeatedSlot& slot,
                                        Identity identity) const {
  const Variable* const variable = argument.variable();
  if (variable == nullptr) return &kNothing;
  const bool is_state = slot.source_is_output && variable->persistable();
  const bool is_in_sub_block = argument.op().block().index() != 0;
  if (is_state || identity == Identity::kVariable ||
      (identity == Identity::kValueOrVariableOfSubBlock && is_in_sub_block)) {
    return variable;
  }
  return StandIn(argument.value());
}

const Value* GradientMatcher::StandIn(const Value* value) const {
  const auto other = stands_for_.find(value);
  return other == stands_for_.end() ? value : other->second;
}

template <typename Get>
GradientMatcher::Key GradientMatcher::KeyOf(const Form& form, SlotMask mask, Identity identity,
                                            Get arguments_of) const {
  Key key;
  for (size_t i = 0; i < form.slots.size(); ++i) {
    if ((mask >> i & 1) == 0) continue;
    const RepeatedSlot& slot = form.slots[i];
    for (const Argument* argument : arguments_of(slot)) {
      key.push_back(IdentityOf(*argument, slot, identity));
    }
    key.push_back(nullptr);
  }
  return key;
}

GradientMatcher::Key GradientMatcher::KeyOfGradient(const Op& gradient, SlotMask mask,
                                                    Identity identity) const {
  return KeyOf(FormOf(gradient), mask, identity,
               [&gradient](const RepeatedSlot& slot) { return gradient.Inputs(slot.name); });
}

GradientMatcher::Key GradientMatcher::KeyOfForward(const Op& gradient, const Op& forward,
                                                   SlotMask mask, Identity identity) const {
  return KeyOf(FormOf(gradient), mask, identity,
               [&forward](const RepeatedSlot& slot) { return SourceOf(slot, forward); });
}

const GradientMatcher::Ops* GradientMatcher::Find(const Op& gradient, SlotMask mask) const {
  static const Ops* const none = new Ops();
  Form& form = FormOf(gradient);
  if (form.forward == nullptr) return none;
  if (form.indexes.size() == kMostSets && !form.indexes.contains(mask)) return nullptr;
  std::unique_ptr<Index>& index = form.indexes[mask];
  if (index == nullptr) {
    index = std::make_unique<Index>();
    for (const Op* forward : *form.forward) {
      (*index)[KeyOfForward(gradient, *forward, mask, identity_)].push_back(forward);
    }
  }
  const auto found = index->find(KeyOfGradient(gradient, mask, identity_));
  return found == index->end() ? none : &found->second;
}

// The op whose output's gradient is read; null if there is none, or more than one.
const Op* GradientMatcher::FindByOutput(const Op& gradient, const Ops& alike) const {
  ByOutput& by_output = alike_by_output_[&alike];
  if (by_output.empty()) {
    for (const Op* op : alike) {
      for (const Argument* output : op->outputs()) {
        by_output[{output->slot_name(), output->index(), output->name()}].push_back(op);
      }
    }
  }
  const Op* found = nullptr;
  for (const Argument* argument : gradient.inputs()) {
    const absl::string_view slot = argument->slot_name();
    if (!absl::EndsWith(slot, kGradientSuffix)) continue;
    const auto ops = by_output.find({absl::StripSuffix(slot, kGradientSuffix), argument->index(),
                                     WithoutGradientSuffix(argument->name())});
    if (ops == by_output.end()) continue;
    for (const Op* op : ops->second) {
      if (found != nullptr && op != found) return nullptr;
      found = op;
    }
  }
  return found;
}

bool GradientMatcher::ReadsResultsOf(const Op& forward, const Op& gradient) const {
  for (const RepeatedSlot& slot : SlotsOf(gradient)) {
    if (!slot.source_is_output) continue;
    const auto written = SourceOf(slot, forward);
    const auto read = gradient.Inputs(slot.name);
    for (size_t i = 0; i < std::min(read.size(), written.size()); ++i) {
      if (StandIn(read[i]->value()) != StandIn(written[i]->value()) &&
          !Updates(forward, written[i]->variable())) {
        return false;
      }
    }
  }
  return true;
}

const GradientMatcher::Ops* GradientMatcher::FindAlike(const Op& gradient, SlotMask mask) const {
  return HasTwice(gradient, SlotsOf(gradient)) ? nullptr : Find(gradient, mask);
}

const Op* GradientMatcher::ForwardAmong(const Ops& alike, const Op& gradient) const {
  if (alike.empty()) return nullptr;
  const Op* const found = alike.size() == 1 ? alike.front() : FindByOutput(gradient, alike);
  return found != nullptr && ReadsResultsOf(*found, gradient) ? found : nullptr;
}

const Op* GradientMatcher::ForwardOf(const Op& gradient) const {
  const SlotMask repeated = Repeated(gradient);
  const Ops* const alike = repeated == 0 ? nullptr : FindAlike(gradient, repeated);
  return alike != nullptr ? ForwardAmong(*alike, gradient) : nullptr;
}

}  // namespace fixpoint
