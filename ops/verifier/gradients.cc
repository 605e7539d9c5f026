// Gradient ops against the forward ops that they belong to.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/verifier/checks.h"

namespace fixpoint {
namespace {

// The values in the slots that a gradient op repeats of its forward op, slot by slot, each ended by
// null. In a sub-block, whose gradients are another block's, variables stand for the values.
using Key = absl::InlinedVector<const void*, 8>;

// Which slots of a GradientSchema's inputs a gradient op has, as bits.
using SlotMask = uint64_t;

// Real programs have one or two forms of a gradient op type; a file that is made to have more does
// not make us index its ops for each.
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

// What an op reads, or, as a forward op, has for its gradient op to read.
struct Reads {
  const Op* op;
  Key key;
};

void Append(absl::Span<const Argument* const> arguments, Key* key) {
  for (const Argument* argument : arguments) key->push_back(Identity(*argument));
  key->push_back(nullptr);
}

SlotMask FilledSlots(const Key& key) {
  SlotMask mask = 0;
  int slot = 0;
  for (size_t i = 0; i < key.size() && slot < 64; ++i) {
    if (key[i] == nullptr) {
      ++slot;
    } else {
      mask |= SlotMask{1} << slot;
    }
  }
  return mask;
}

// The key without the slots that are not in the mask.
Key Select(const Key& key, SlotMask mask) {
  Key selected;
  int slot = 0;
  for (const void* identity : key) {
    const bool in_mask = slot < 64 && (mask >> slot & 1) != 0;
    if (in_mask) selected.push_back(identity);
    if (identity == nullptr) ++slot;
  }
  return selected;
}

}  // namespace

class GradientCheck::Impl {
 public:
  Impl(Era era, FindingList* findings) : era_(era), findings_(findings) {}

  void Add(const KnownOp& known) {
    for (const GradientSchema& form : known.schema->gradients()) {
      Reads reads{known.op, {}};
      for (const GradientSchema::Slot& slot : form.inputs) {
        if (!slot.is_gradient) Append(SourceArguments(*known.op, slot), &reads.key);
      }
      forward_ops_[&form].push_back(std::move(reads));
    }
    if (known.schema->gradient_of().empty()) return;
    const OpSchema* forward = FindOpSchema(known.schema->gradient_of());
    // The gradient op of one that runs a block reads what its scopes kept.
    if (forward == nullptr || !known.op->sub_blocks().empty()) return;
    const GradientSchema* form = FindForm(*forward, known.op->type());
    if (form == nullptr) return;
    Gradient gradient{forward, form, {known.op, {}}};
    for (const GradientSchema::Slot& slot : form->inputs) {
      if (!slot.is_gradient) Append(known.op->Inputs(slot.name), &gradient.reads.key);
    }
    gradients_.push_back(std::move(gradient));
  }

  void Finish() {
    for (const Gradient& gradient : gradients_) {
      const SlotMask mask = FilledSlots(gradient.reads.key);
      if (mask == 0) continue;
      const Index* index = FindIndex(*gradient.form, mask);
      if (index != nullptr && !index->contains(Select(gradient.reads.key, mask))) {
        Report(*gradient.reads.op, *gradient.forward, *gradient.form);
      }
    }
  }

 private:
  struct Gradient {
    const OpSchema* forward;
    const GradientSchema* form;
    Reads reads;
  };
  using Index = absl::flat_hash_set<Key>;

  const GradientSchema* FindForm(const OpSchema& forward, const std::string& type) const {
    const GradientSchema* found = nullptr;
    for (const GradientSchema& gradient : forward.gradients()) {
      if (gradient.type == type && (found == nullptr || Includes(gradient.eras, era_))) {
        found = &gradient;
      }
    }
    return found;
  }

  // What each forward op has in those slots; null where there are more forms than are looked at.
  const Index* FindIndex(const GradientSchema& form, SlotMask mask) {
    const auto [known, is_new] = indexes_.try_emplace({&form, mask});
    if (!is_new) return &known->second;
    Index& index = known->second;
    if (++forms_[&form] > kMostForms) {
      indexes_.erase(known);
      return nullptr;
    }
    const auto ops = forward_ops_.find(&form);
    if (ops == forward_ops_.end()) return &index;
    for (const Reads& reads : ops->second) index.insert(Select(reads.key, mask));
    return &index;
  }

  // The forward op whose output's gradient the op takes in, by the name of that gradient.
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

  // The last op of that type before `gradient` that writes `name`; looks a bounded way back.
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
    // Messages are made for a few; to look for the forward op of each could take long.
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
  absl::flat_hash_map<const GradientSchema*, std::vector<Reads>> forward_ops_;
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
