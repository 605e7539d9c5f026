// lower_to_integers: computes on integers what the ops of a portable program compute from codes, by
// the rules of transpiler/lower/rules. Each of those files shows a program before and after.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "transpiler/lower/lower_context.h"
#include "transpiler/lower/portable_codes.h"
#include "transpiler/lower/rules/lowering.h"
#include "transpiler/lower/rules/rule.h"
#include "transpiler/pipeline/captures.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

using RulesByType = absl::flat_hash_map<std::string, const LoweringRule*>;

RulesByType IndexRules() {
  RulesByType rules;
  for (const auto& rule : LoweringRules()) {
    for (const std::string& type : rule->op_types()) rules[type] = rule.get();
  }
  return rules;
}

// Removes ops between floats and codes that nothing reads any more: the last first, because it may
// have been the only reader of another.
void RemoveUnread(const Program& program, Rewriter& rewriter) {
  std::vector<const Op*> dequantizers;
  for (const Op& op : program.ops()) {
    if (QuantOpOf(op) == QuantOp::kDequantize || IsCastOfCodes(op)) dequantizers.push_back(&op);
  }
  for (auto op = dequantizers.rbegin(); op != dequantizers.rend(); ++op) {
    if (IsUnread(**op)) rewriter.Remove(**op);
  }
}

class LowerToIntegers final : public StagePass<LowerContext> {
 public:
  absl::string_view name() const override { return "lower_to_integers"; }
  absl::string_view doc() const override {
    return "Computes on integers what the ops of a portable program compute from codes.";
  }
  std::vector<std::string> Requires() const override { return {"frozen"}; }
  std::vector<std::string> Establishes() const override { return {"lowered"}; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status RunIn(Program& program, LowerContext& context) const override {
    if (program.edited()) context.portable = program.Clone();
    const RulesByType rules = IndexRules();
    Lowering lowering(&program, &context, name());
    absl::flat_hash_map<const Op*, size_t> records;  // of context.lowered
    for (int b = 0; b < program.block_count(); ++b) {
      int index = -1;
      for (const Op& op : program.block(b).ops()) {
        ++index;
        if (IsFeedOrFetch(op)) continue;
        LoweredOp lowered{b, index, op.type(),
                          op.outputs().empty() ? "" : std::string(op.outputs()[0]->name()),
                          IntegerReason::kNoRule};
        if (const auto rule = rules.find(lowered.type); rule != rules.end()) {
          lowered.reason = IntegerReason::kAttributes;
          if (lowering.IsInForm(op)) {
            ASSIGN_OR_RETURN(lowered.reason, rule->second->Lower(op, lowering));
          }
        }
        records[&op] = context.lowered.size();
        context.lowered.push_back(std::move(lowered));
      }
    }
    for (const Op* op : lowering.moving_codes()) {
      const auto record = records.find(op);
      if (record != records.end()) {
        context.lowered[record->second].reason = IntegerReason::kOnIntegers;
      }
    }
    // An input that an op lists and its block no longer reads must not keep the ops that compute
    // it.
    UpdateCaptures(program, &lowering.rewriter());
    RemoveUnread(program, lowering.rewriter());
    if (lowering.rounding_away_from_zero() > 0) {
      context.notes.push_back(absl::StrCat(
          "quantizers that round ties away from zero, where integers round them to even, so that "
          "a code may differ by one: ",
          lowering.rounding_away_from_zero()));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeLowerToIntegers() { return std::make_unique<LowerToIntegers>(); }

}  // namespace fixpoint
