#include "transpiler/report/lowering_account.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "ops/codes/integer_reasons.h"

namespace fixpoint {
namespace {

std::optional<IntegerReason> ReasonOfCode(absl::string_view code) {
  for (const IntegerReason reason : AllIntegerReasons()) {
    if (IntegerReasonCode(reason) == code) return reason;
  }
  return std::nullopt;
}

}  // namespace

LoweredPart PartOf(IntegerReason reason) {
  switch (reason) {
    case IntegerReason::kOnIntegers:
    case IntegerReason::kBiasAsNumbers:
    case IntegerReason::kInEpilogue:
      return LoweredPart::kIntegers;
    case IntegerReason::kAtEdge:
      return LoweredPart::kEdge;
    default:
      return LoweredPart::kFloat;
  }
}

absl::string_view ReasonCode(const LoweredOp& op) { return IntegerReasonCode(op.reason); }

std::optional<LoweredPart> PartOfCode(absl::string_view code) {
  const std::optional<IntegerReason> reason = ReasonOfCode(code);
  return reason ? std::optional<LoweredPart>(PartOf(*reason)) : std::nullopt;
}

absl::string_view MeaningOfCode(absl::string_view code) {
  const std::optional<IntegerReason> reason = ReasonOfCode(code);
  return reason ? IntegerReasonMeaning(*reason) : "";
}

std::vector<LoweredType> CountByType(absl::Span<const LoweredOp> ops) {
  std::map<std::string, std::map<IntegerReason, int>> counts;
  for (const LoweredOp& op : ops) ++counts[op.type][op.reason];
  std::vector<LoweredType> types;
  for (const auto& [type, reasons] : counts) {
    types.push_back({type, {reasons.begin(), reasons.end()}});
  }
  return types;
}

LoweringAccount MakeLoweringAccount(absl::Span<const LoweredOp> ops) {
  LoweringAccount account;
  for (const LoweredType& type : CountByType(ops)) {
    AccountLine& line = account.lines.emplace_back();
    line.op_type = type.op_type;
    for (const auto& [reason, count] : type.ops) {
      line.total += count;
      const LoweredPart part = PartOf(reason);
      if (part == LoweredPart::kIntegers) {
        line.done += count;
        account.integers += count;
        continue;
      }
      line.kept.emplace_back(IntegerReasonCode(reason), count);
      (part == LoweredPart::kEdge ? account.edges : account.floats) += count;
    }
  }
  return account;
}

std::string LoweringExplainTable(absl::Span<const LoweredOp> ops) {
  std::string table;
  for (const LoweredOp& op : ops) {
    absl::StrAppend(&table, "block ", op.block, ", op ", op.op, " (", op.type, ") -> ", op.output,
                    ": ", ReasonCode(op), ": ", IntegerReasonMeaning(op.reason), "\n");
  }
  return table;
}

}  // namespace fixpoint
