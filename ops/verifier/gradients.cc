// Gradient ops against the forward ops that they belong to.

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/verifier/checks.h"

namespace fixpoint {
namespace {

// What a gradient op reads of its forward op, slot by slot. In a gradient block, whose values are
// those of another run, variables stand for them.
using Key = absl::InlinedVector<const void*, 8>;

// Which slots of a GradientSchema's inputs a gradient op has, as bits.
using SlotMask = uint64_t;

// Real programs have one or two forms of a gradient op type; a file that is made to have more does
// not make us index its ops for each.
constexpr int kMostForms = 8;

const void* Identity(const Argument& argument, bool by_variable) {
  if (by_variable) return argument.variable();
  return argument.value();
}

absl::Span<const Argument* const> SourceArguments(const Op& forward,
                                                  const GradientSchema::Slot& slot) {
  return slot.source_is_output ? forward.Outputs(slot.source) : forward.Inputs(slot.source);
}

void Append(absl::Span<const Argument* const> arguments, bool by_variable, Key* key) {
  for (const Argument* argument : arguments) key->push_back(Identity(*argument, by_variable));
  key->push_back(nullptr);  // the end of the slot
}

class GradientCheck {
 public:
  GradientCheck(const std::vector<KnownOp>& ops, Era era, FindingList* findings)
      : era_(era), findings_(findings) {
    for (const KnownOp& known : ops) {
      if (known.schema != nullptr && !known.schema->gradients().empty()) {
        forward_ops_[known.schema].push_back(known.op);
      }
    }
  }

  void Check(const KnownOp& gradient) {
    const OpSchema* forward = FindOpSchema(gradient.schema->gradient_of());
    // The gradient op of one that runs a block reads what its scopes kept.
    if (forward == nullptr || !gradient.op->sub_blocks().empty()) return;
    const GradientSchema* form = FindForm(*forward, gradient.op->type());
    if (form == nullptr) return;
    const SlotMask mask = PresentSlots(*gradient.op, *form);
    if (mask == 0) return;
    const Index* index =
        FindIndex(*forward, *form, mask, gradient.op->block().forward() != nullptr);
    if (index == nullptr) return;
    const Key key = KeyOfGradient(*gradient.op, *form, mask);
    if (index->find(key) == index->end()) Report(*gradient.op, *forward, *form, mask);
  }

 private:
  using Index = absl::flat_hash_map<Key, const Op*>;
  using IndexKey = std::pair<const GradientSchema*, std::pair<SlotMask, bool>>;

  const GradientSchema* FindForm(const OpSchema& forward, const std::string& type) const {
    const GradientSchema* found = nullptr;
    for (const GradientSchema& gradient : forward.gradients()) {
      if (gradient.type == type && (found == nullptr || Includes(gradient.eras, era_))) {
        found = &gradient;
      }
    }
    return found;
  }

  static SlotMask PresentSlots(const Op& gradient, const GradientSchema& form) {
    SlotMask mask = 0;
    for (size_t i = 0; i < form.inputs.size() && i < 64; ++i) {
      const GradientSchema::Slot& slot = form.inputs[i];
      if (!slot.is_gradient && !gradient.Inputs(slot.name).empty()) mask |= SlotMask{1} << i;
    }
    return mask;
  }

  static Key KeyOfGradient(const Op& gradient, const GradientSchema& form, SlotMask mask) {
    Key key;
    const bool by_variable = gradient.block().forward() != nullptr;
    for (size_t i = 0; i < form.inputs.size(); ++i) {
      if ((mask >> i & 1) != 0) Append(gradient.Inputs(form.inputs[i].name), by_variable, &key);
    }
    return key;
  }

  // Null where there are more forms than are looked at.
  const Index* FindIndex(const OpSchema& forward, const GradientSchema& form, SlotMask mask,
                         bool by_variable) {
    const IndexKey index_key(&form, {mask, by_variable});
    const auto known = indexes_.find(index_key);
    if (known != indexes_.end()) return &known->second;
    if (++forms_[&form] > kMostForms) return nullptr;
    Index& index = indexes_[index_key];
    for (const Op* op : forward_ops_[&forward]) {
      Key key;
      for (size_t i = 0; i < form.inputs.size(); ++i) {
        if ((mask >> i & 1) != 0) Append(SourceArguments(*op, form.inputs[i]), by_variable, &key);
      }
      index.emplace(std::move(key), op);
    }
    return &index;
  }

  // The forward op whose output's gradient the op takes in, by the name of that gradient.
  static const Op* ForwardByName(const Op& gradient, const OpSchema& forward,
                                 const GradientSchema& form) {
    for (const GradientSchema::Slot& slot : form.inputs) {
      if (!slot.is_gradient) continue;
      for (const Argument* argument : gradient.Inputs(slot.name)) {
        absl::string_view name = argument->name();
        if (!absl::ConsumeSuffix(&name, kGradientSuffix)) continue;
        const Op* op = LastWriter(gradient, name, forward.type());
        if (op != nullptr) return op;
      }
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

  void Report(const Op& gradient, const OpSchema& forward, const GradientSchema& form,
              SlotMask mask) {
    // Messages are made for a few; to look for the forward op of each could take long.
    constexpr int kMostExplained = 64;
    const Op* op = ++reported_ <= kMostExplained ? ForwardByName(gradient, forward, form) : nullptr;
    const bool by_variable = gradient.block().forward() != nullptr;
    for (size_t i = 0; op != nullptr && i < form.inputs.size(); ++i) {
      if ((mask >> i & 1) == 0) continue;
      const auto read = gradient.Inputs(form.inputs[i].name);
      const auto source = SourceArguments(*op, form.inputs[i]);
      for (size_t k = 0; k < std::max(read.size(), source.size()); ++k) {
        const Argument* want = k < source.size() ? source[k] : nullptr;
        const Argument* got = k < read.size() ? read[k] : nullptr;
        if (want != nullptr && got != nullptr &&
            Identity(*want, by_variable) == Identity(*got, by_variable)) {
          continue;
        }
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
    findings_->Error(FindingCode::kGradientMismatch, gradient,
                     absl::StrCat("input ", slot.name, " reads ", text(got),
                                  same_name ? " after it was written again" : "", "; want ",
                                  same_name ? "the value of it" : text(want), ", which ",
                                  Describe(forward), slot.source_is_output ? " writes" : " reads"));
  }

  const Era era_;
  FindingList* findings_;
  absl::flat_hash_map<const OpSchema*, std::vector<const Op*>> forward_ops_;
  absl::flat_hash_map<IndexKey, Index> indexes_;
  absl::flat_hash_map<const GradientSchema*, int> forms_;
  int reported_ = 0;
};

}  // namespace

void CheckGradients(const std::vector<KnownOp>& ops, Era era, FindingList* findings) {
  GradientCheck check(ops, era, findings);
  for (const KnownOp& known : ops) {
    if (known.schema != nullptr && !known.schema->gradient_of().empty()) check.Check(known);
  }
}

}  // namespace fixpoint
