#include "transpiler/plan/plan_on_target.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/era.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/plan/accumulator.h"
#include "transpiler/plan/complaints.h"
#include "transpiler/plan/eligibility.h"

namespace fixpoint {
namespace {

// What a plan quantizes of one op.
struct QuantizedInputs {
  std::vector<SlotPlan> slots;
  std::vector<SlotPlan> bias;
  absl::flat_hash_set<std::string> scales;  // that the slots share; "" for one of its own
};

bool Names(const google::protobuf::RepeatedPtrField<std::string>& types, const Op& op) {
  return std::find(types.begin(), types.end(), op.type()) != types.end();
}

// What of a plan the target's entries are about. They are not about an input that is quantized
// because of the op that writes it (`outputs`), whatever reads it.
class JudgedInputs {
 public:
  // REQUIRES: all outlive the object.
  JudgedInputs(const Plan& plan, const Target& target, Era era) : target_(target), era_(era) {
    for (const Decision& decision : plan.decisions) {
      if (!decision.quantized) floats_.insert(decision.op);
    }
    for (const Site& site : plan.sites) {
      if (site.role != SlotRole::BIAS) continue;
      for (const Argument* reader : site.readers) {
        inputs_[&reader->op()].bias.push_back({reader, site.role, site.spec, ""});
      }
    }
    for (const Site& site : plan.sites) {
      if (site.observe || site.role == SlotRole::BIAS) continue;
      for (const Argument* reader : site.readers) {
        if (IsOfOutputs(site) && !IsOfEntry(*reader)) continue;
        QuantizedInputs& of_op = inputs_[&reader->op()];
        of_op.slots.push_back({reader, site.role, site.spec, ""});
        of_op.scales.insert(site.shared_scale);
      }
    }
  }

  // Null where there are none.
  const QuantizedInputs* Find(const Op& op) const {
    const auto found = inputs_.find(&op);
    return found == inputs_.end() ? nullptr : &found->second;
  }

  // Whether each entry that computes the op gives its inputs one scale.
  bool WantsOneScale(const Op& op) const {
    bool wants_one = false;
    for (const Target::QuantizedOp& entry : target_.ops()) {
      if (!Names(entry.types(), op) || FindUnmetCondition(op, entry, era_)) continue;
      if (!entry.shared_scale()) return false;
      wants_one = true;
    }
    return wants_one;
  }

 private:
  bool IsOfOutputs(const Site& site) const {
    return site.role == SlotRole::ACTIVATION && site.shared_scale.empty() &&
           site.value->origin() == Value::Origin::kWrite &&
           std::any_of(target_.outputs().begin(), target_.outputs().end(),
                       [&site](const Target::ObservedOutputs& outputs) {
                         return outputs.quantize() && Names(outputs.types(), *site.value->op());
                       });
  }

  // Whether the plan may quantize an input because of the op that reads it. An op with a bias in
  // its sums is quantized for that alone.
  bool IsOfEntry(const Argument& input) const {
    const Op& op = input.op();
    const QuantizedInputs* const quantized = Find(op);
    const bool adds_bias =
        quantized != nullptr && !quantized->bias.empty() && !TraitsOf(op).product;
    if (floats_.contains(&op) || adds_bias) return false;
    return std::any_of(
        target_.ops().begin(), target_.ops().end(), [&](const Target::QuantizedOp& entry) {
          const auto& slots = entry.inputs();
          return Names(entry.types(), op) && !FindUnmetCondition(op, entry, era_) &&
                 std::any_of(slots.begin(), slots.end(), [&input](const Target::Slot& slot) {
                   return slot.name() == input.slot_name() && slot.role() != SlotRole::RESIDUAL;
                 });
        });
  }

  const Target& target_;
  const Era era_;
  absl::flat_hash_set<const Op*> floats_;  // that the plan decides to leave in float
  absl::flat_hash_map<const Op*, QuantizedInputs> inputs_;
};

std::optional<std::string> WhyNotBy(const std::vector<const TargetCheck*>& checks,
                                    const Program& program, const Op& op,
                                    const std::vector<SlotPlan>& inputs) {
  if (inputs.empty()) return std::nullopt;
  for (const TargetCheck* check : checks) {
    const CheckVerdict verdict = check->Check(program, op, inputs);
    if (verdict.kind() == CheckVerdict::Kind::kQuantize) continue;
    return absl::StrCat(check->name(), ": ", verdict.why());
  }
  return std::nullopt;
}

}  // namespace

absl::Status CheckPlanOnTarget(const Plan& plan, const Program& program, const Target& target,
                               const QuantizerTable& quantizers, const CheckTable& checks) {
  ASSIGN_OR_RETURN(const std::vector<const TargetCheck*> named, checks.Of(target));
  const Era era = EraOf(program);
  const JudgedInputs inputs(plan, target, era);
  Complaints complaints;
  for (const Op& op : program.ops()) {
    const QuantizedInputs* const found = inputs.Find(op);
    if (found == nullptr) continue;
    const auto complain = [&](const auto&... parts) {
      complaints.Add(Describe(op), ": target ", target.name(), " ", parts...);
    };
    const QuantizedInputs& quantized = *found;
    if (const auto why = WhyTooNarrow(target, quantizers, op, era, quantized.slots)) {
      complain("has an accumulator that is too narrow: ", *why);
    }
    const bool have_one_scale = quantized.scales.size() == 1 && !quantized.scales.contains("");
    if (quantized.slots.size() > 1 && !have_one_scale && inputs.WantsOneScale(op)) {
      complain("wants one scale for its inputs; want one shared_scale in all their sites");
    }
    std::optional<std::string> why = WhyNotBy(named, program, op, quantized.slots);
    if (!why) why = WhyNotBy(named, program, op, quantized.bias);
    if (why) complain("does not compute it on integers: ", *why);
  }
  const absl::Status status = complaints.status();
  return status.ok() ? status : absl::FailedPreconditionError(status.message());
}

}  // namespace fixpoint
