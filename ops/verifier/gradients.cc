// Gradient ops against the forward ops that they belong to.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/gradient_matcher.h"
#include "ops/gradient_slots.h"
#include "ops/op_schema.h"
#include "ops/verifier/checks.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

bool AreInMain(const Op& op, const Op& other) {
  return op.block().index() == 0 && other.block().index() == 0;
}

}  // namespace

class GradientCheck::Impl {
 public:
  Impl(Era era, FindingList* findings)
      : matcher_(era, GradientMatcher::Identity::kValueOrVariableOfSubBlock), findings_(findings) {}

  void Add(const KnownOp& known) {
    if (!known.schema->gradients().empty()) matcher_.AddForward(*known.op);
    if (known.schema->gradient_of().empty()) return;
    // The gradient op of an op that runs a block reads what its scopes kept.
    if (known.op->sub_blocks().empty()) gradients_.push_back(known);
  }

  void Finish() {
    for (const auto& [gradient, schema] : gradients_) {
      const GradientMatcher::SlotMask repeated = matcher_.Repeated(*gradient);
      const GradientMatcher::Ops* const forward =
          repeated == 0 ? nullptr : matcher_.Find(*gradient, repeated);
      if (forward == nullptr) continue;
      if (forward->empty()) {
        Report(*gradient, schema->gradient_of());
      } else if (const Op& first = *forward->front();
                 AreInMain(*gradient, first) && gradient->IsBefore(first)) {
        findings_->Error(FindingCode::kGradientMismatch, *gradient,
                         absl::StrCat("the op stands before ", findings_->Place(first),
                                      ", of which it is the gradient; want it after"));
      }
    }
  }

 private:
  // The forward op whose output's gradient the op reads, by the name of that gradient.
  static const Op* ForwardByName(const Op& gradient, const std::string& forward_type) {
    for (const Argument* argument : gradient.inputs()) {
      absl::string_view name = argument->name();
      if (argument->index() != 0 || !absl::EndsWith(argument->slot_name(), kGradientSuffix) ||
          !absl::ConsumeSuffix(&name, kGradientSuffix)) {
        continue;
      }
      const Op* op = LastWriter(gradient, name, forward_type);
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

  void Report(const Op& gradient, const std::string& forward_type) {
    // Messages are made for a few findings only; searching the forward op of each could take long.
    constexpr int kMostExplained = 64;
    const Op* op = ++reported_ <= kMostExplained ? ForwardByName(gradient, forward_type) : nullptr;
    if (op != nullptr) {
      for (const RepeatedSlot& slot : matcher_.SlotsOf(gradient)) {
        const auto read = gradient.Inputs(slot.name);
        if (read.empty()) continue;
        const auto source = SourceOf(slot, *op);
        for (size_t k = 0; k < std::max(read.size(), source.size()); ++k) {
          const Argument* want = k < source.size() ? source[k] : nullptr;
          const Argument* got = k < read.size() ? read[k] : nullptr;
          if (want != nullptr && got != nullptr && matcher_.AreSame(slot, *got, *want)) continue;
          ReportSlot(gradient, *op, slot, got, want);
          return;
        }
      }
    }
    findings_->Error(FindingCode::kGradientMismatch, gradient,
                     absl::StrCat("no ", forward_type, " has the values that this op reads"));
  }

  void ReportSlot(const Op& gradient, const Op& forward, const RepeatedSlot& slot,
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

  GradientMatcher matcher_;
  FindingList* findings_;
  std::vector<KnownOp> gradients_;
  int reported_ = 0;
};

GradientCheck::GradientCheck(Era era, FindingList* findings)
    : impl_(std::make_unique<Impl>(era, findings)) {}

GradientCheck::~GradientCheck() = default;

void GradientCheck::Add(const KnownOp& known) { impl_->Add(known); }

void GradientCheck::Finish() { impl_->Finish(); }

}  // namespace fixpoint
