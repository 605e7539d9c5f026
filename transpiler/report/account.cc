#include "transpiler/report/account.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/reasons.h"

namespace fixpoint {

Account MakeAccount(const QuantPlan& plan) {
  struct Counts {
    int total = 0;
    int quantized = 0;
    std::map<std::string, int> kept;
  };
  std::map<std::string, Counts> by_type;
  std::map<std::pair<std::string, std::string>, int> in_vain;  // by op type and rule
  Account account;
  account.target = plan.target();
  account.is_inference = plan.is_inference();
  for (const QuantPlan::Decision& decision : plan.decisions()) {
    Counts& counts = by_type[decision.type()];
    ++counts.total;
    ++account.total;
    if (decision.quantized()) {
      ++counts.quantized;
      ++account.quantized;
    } else {
      ++counts.kept[decision.reason()];
      const bool is_skipped = decision.reason() == ReasonCode(Reason::kSkippedByRule);
      if (!is_skipped && decision.has_rule()) ++in_vain[{decision.type(), decision.rule()}];
    }
  }
  for (auto& [type, counts] : by_type) {
    account.lines.push_back(
        {type, counts.total, counts.quantized, {counts.kept.begin(), counts.kept.end()}});
  }
  for (const auto& [asked, count] : in_vain) {
    account.asked_in_vain.push_back(absl::StrCat(count, " ", asked.first, " (", asked.second, ")"));
  }
  for (const QuantPlan::Site& site : plan.sites()) {
    ++(site.observe()                    ? account.observers
       : IsOfGradient(site)              ? account.gradient_quantizers
       : site.role() == SlotRole::BIAS   ? account.bias_quantizers
       : site.role() == SlotRole::WEIGHT ? account.weight_quantizers
                                         : account.activation_quantizers);
  }
  return account;
}

std::string AccountTable(absl::Span<const AccountLine> lines, absl::string_view done,
                         absl::string_view kept) {
  AccountLine sums;
  size_t width = 7;
  for (const AccountLine& line : lines) {
    width = std::max(width, line.op_type.size());
    sums.total += line.total;
    sums.done += line.done;
  }
  std::string table = absl::StrFormat("%-*s  %5s  %9s  %s\n", width, "op type", "ops", done, kept);
  for (const AccountLine& line : lines) {
    const std::string reasons =
        absl::StrJoin(line.kept, ", ", [](std::string* out, const auto& reason) {
          absl::StrAppend(out, reason.second, " ", reason.first);
        });
    absl::StrAppendFormat(&table, "%-*s  %5d  %9d  %s\n", width, line.op_type, line.total,
                          line.done, reasons.empty() ? "-" : reasons);
  }
  absl::StrAppendFormat(&table, "%-*s  %5d  %9d  %d\n", width, "total", sums.total, sums.done,
                        sums.total - sums.done);
  return table;
}

std::string AccountTable(const Account& account) {
  return AccountTable(account.lines, "quantized", "float");
}

std::string ExplainTable(const QuantPlan& plan) {
  std::string table;
  for (const QuantPlan::Decision& decision : plan.decisions()) {
    absl::StrAppend(&table, "block ", decision.block(), ", op ", decision.op(), " (",
                    decision.type(), ") -> ", decision.output(), ": ",
                    decision.quantized() ? "quantized" : "float", ", ", decision.reason());
    if (!decision.rule().empty()) absl::StrAppend(&table, " (", decision.rule(), ")");
    if (!decision.detail().empty()) absl::StrAppend(&table, ": ", decision.detail());
    absl::StrAppend(&table, "\n");
  }
  return table;
}

}  // namespace fixpoint
