// Gradient ops against the forward ops that they belong to.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"
#include "ops/verifier/checks.h"
#include "proto/program.h"

namespace fixpoint {
namespace {

// The values in the slots that a gradient op repeats from its forward op, slot by slot, each ended
// by null. In a sub-block, whose gradients are in another block, variables stand for the values.
using Key = absl::InlinedVector<const void*, 8>;

// Which slots of a GradientSchema's inputs a gradient op has, as bits.
using SlotMask = uint64_t;

// Real programs have one or two forms of a gradient op type; a file with more of them must not make
// us index its ops for each.
constexpr int kMostForms = 8;

// Stands for kEmptyArgument; null ends a slot.
constexpr char kNothing = 0;

const void* Identity(const Argument& argument) {
  if (argument.variable() == nullptr) return &kNothing;
  if (argument.op().block().index() != 0) return argument.variable();
  return argument.value();
}

absl::Span<const Argument* const> SourceArguments(const Op& forward,
                                                  const GradientSchema::Slot& slot) {
  return slot.source_is_output ? forward.Outputs(slot.source) : forward.Inputs(slot.source);
}

void Append(absl::Span<const Argument* const> arguments, Key* key) {
  for (const Argument* argument : arguments) key->push_back(Identity(*argument));
  key->push_back(nullptr);
}

bool AreInMain(const Op& op, const Op& other) {
  return op.block().index() == 0 && other.block().index() == 0;
}

// What a gradient op reads in the slots that it repeats, and which of those it has.
struct Repeated {
  Key key;
  SlotMask mask = 0;
};

Repeated RepeatedBy(const Op& gradient, const GradientSchema& form) {
  Repeated repeated;
  SlotMask bit = 1;
  for (const GradientSchema::Slot& slot : form.inputs) {
    if (slot.is_gradient) continue;
    const auto arguments = gradient.Inputs(slot.name);
    if (!arguments.empty()) {
      Append(arguments, &repeated.key);
      repeated.mask |= bit;
    }
    bit <<= 1;
  }
  return repeated;
}

// What a forward op has in those slots for its gradient op to read.
Key KeyOf(const Op& forward, const GradientSchema& form, SlotMask mask) {
  Key key;
  SlotMask bit = 1;
  for (const GradientSchema::Slot& slot : form.inputs) {
    if (slot.is_gradient) continue;
    if ((mask & bit) != 0) Append(SourceArguments(forward, slot), &key);
    bit <<= 1;
  }
  return key;
}

}  // namespace

class GradientCheck::Impl {
 public:
  Impl(Era era, FindingList* findings) : era_(era), findings_(findings) {}

  void Add(const KnownOp& known) {
    if (!known.schema->gradients().empty()) forward_ops_[known.schema].push_back(known.op);
    if (known.schema->gradient_of().empty()) return;
    const OpSchema* forward = FindOpSchema(known.schema->gradient_of());
    // The gradient op of an op that runs a block reads what its scopes kept.
    if (forward == nullptr || !known.op->sub_blocks().empty()) return;
    const GradientSchema* form = FindForm(*forward, known.op->type());
    if (form != nullptr) gradients_.push_back({known.op, forward, form});
  }

  void Finish() {
    for (const Gradient& gradient : gradients_) {
      const Repeated repeated = RepeatedBy(*gradient.op, *gradient.form);
      if (repeated.mask == 0) continue;
      const Index* index = FindIndex(gradient, repeated.mask);
      if (index == nullptr) continue;
      const auto forward = index->find(repeated.key);
      if (forward == index->end()) {
        Report(*gradient.op, *gradient.forward, *gradient.form);
      } else if (AreInMain(*gradient.op, *forward->second) &&
                 gradient.op->IsBefore(*forward->second)) {
        findings_->Error(FindingCode::kGradientMismatch, *gradient.op,
                         absl::StrCat("the op stands before ", findings_->Place(*forward->second),
                                      ", of which it is the gradient; want it after"));
      }
    }
  }

 private:
  struct Gradient {
    const Op* op;
    const OpSchema* forward;
    const GradientSchema* form;
  };
  // The first forward op that has what a gradient op reads.
  using Index = absl::flat_hash_map<Key, const Op*>;

  const GradientSchema* FindForm(const OpSchema& forward, const std::string& type) const {
    const GradientSchema* found = nullptr;
    for (const GradientSchema& gradient : forward.gradients()) {
      if (gradient.type == type && (found == nullptr || Includes(gradient.eras, era_))) {
        found = &gradient;
      }
    }
    return found;
  }

  // What each forward op has in those slots; null if there are more forms than are tracked.
  const Index* FindIndex(const Gradient& gradient, SlotMask mask) {
    const auto [known, is_new] = indexes_.try_emplace({gradient.form, mask});
    if (!is_new) return &known->second;
    Index& index = known->second;
    if (++forms_[gradient.form] > kMostForms) {
      indexes_.erase(known);
      return nullptr;
    }
    const auto ops = forward_ops_.find(gradient.forward);
    if (ops == forward_ops_.end()) return &index;
    for (const Op* op : ops->second) index.try_emplace(KeyOf(*op, *gradient.form, mask), op);
    return &index;
  }

  // The forward op whose output's gradient the op reads, by the name of that gradient.
  static const Op* ForwardByName(const Op& gradient, const OpSchema& forward,
                                 const GradientSchema& form) {
    for (const GradientSchema::Slot& slot : form.inputs) {
      if (!slot.is_gradient) continue;
      const auto arguments = gradient.Inputs(slot.name);
      if (arguments.empty()) continue;
      absl::string_view name = arguments.front()->name();
      if (!absl::ConsumeSuffix(&name, kGradientSuffix)) continue;
      const Op* op = LastWriter(gradient, name, forward.type());
      if (op != nullptr) return op;
    }
    return nullptr;
  }

  // The last op of that type before `gradient` that writes `name`; searches a bounded way back.
  static const Op* LastWriter(const Op& gradient, absl::string_view name, const std::string& type) {
    constexpr int kFarthest = 4096;
    const Op* op = gradient.previous();
    for (int i = 0; op != nullptr && i < kFarthest; op = op->previous(), ++i) {
      if (op->type() != type) continue;
      for (const Argument* output : op->outputs()) {
        if (output->name() == name) return op;
      }
    }
    return nullptr;
  }

  void Report(const Op& gradient, const OpSchema& forward, const GradientSchema& form) {
    // Messages are made for a few findings only; searching the forward op of each could take long.
    constexpr int kMostExplained = 64;
    const Op* op = ++reported_ <= kMostExplained ? ForwardByName(gradient, forward, form) : nullptr;
    for (size_t i = 0; op != nullptr && i < form.inputs.size(); ++i) {
      const auto read = gradient.Inputs(form.inputs[i].name);
      if (form.inputs[i].is_gradient || read.empty()) continue;
      const auto source = SourceArguments(*op, form.inputs[i]);
      for (size_t k = 0; k < std::max(read.size(), source.size()); ++k) {
        const Argument* want = k < source.size() ? source[k] : nullptr;
        const Argument* got = k < read.size() ? read[k] : nullptr;
        if (want != nullptr && got != nullptr && Identity(*want) == Identity(*got)) continue;
        ReportSlot(gradient, *op, form.inputs[i], got, want);
        return;
      }
    }
    findings_->Error(FindingCode::kGradientMismatch, gradient,
                     absl::StrCat("no ", forward.type(), " has the values that this op reads"));
  }

  void ReportSlot(const Op& gradient, const Op& forward, const GradientSchema::Slot& slot,
                  const Argument* got, const Argument* want) {
    const auto text = [](const Argument* argument) {
      return argument != nullptr ? absl::StrCat("\"", argument->name(), "\"")
                                 : std::string("nothing");
    };
    const bool same_name = got != nullptr && want != nullptr && got->name() == want->name();
    findings_->Error(
        FindingCode::kGradientMismatch, gradient,
        absl::StrCat("input ", slot.name, " reads ", text(got),
                     same_name ? " after it was written again" : "", "; want ",
                     same_name ? "the value of it" : text(want), ", which ",
                     findings_->Place(forward), slot.source_is_output ? " writes" : " reads"));
  }

  const Era era_;
  FindingList* findings_;
  absl::flat_hash_map<const OpSchema*, std::vector<const Op*>> forward_ops_;
  std::vector<Gradient> gradients_;
  absl::flat_hash_map<std::pair<const GradientSchema*, SlotMask>, Index> indexes_;
  absl::flat_hash_map<const GradientSchema*, int> forms_;
  int reported_ = 0;
};

GradientCheck::GradientCheck(Era era, FindingList* findings)
    : impl_(std::make_unique<Impl>(era, findings)) {}

GradientCheck::~GradientCheck() = default;

void GradientCheck::Add(const KnownOp& known) { impl_->Add(known); }

void GradientCheck::Finish() { impl_->Finish(); }

}  // namespace fixpoint
