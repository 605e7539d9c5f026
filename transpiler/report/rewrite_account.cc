#include "transpiler/report/rewrite_account.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

std::string Count(int count, const char* one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

std::string Became(const ReplacedMatch& replaced) {
  std::string text = absl::StrCat(Count(replaced.ops_before, "op"), " became ", replaced.ops_after);
  if (replaced.gradient_ops_before > 0) {
    absl::StrAppend(&text, ", ", Count(replaced.gradient_ops_before, "gradient op"), " became ",
                    replaced.gradient_ops_after);
  }
  return text;
}

}  // namespace

std::string RewriteAccountTable(const RewriteReport& report) {
  struct Line {
    ReplacedMatch sum;
    int matches = 0;
  };
  std::vector<Line> lines;  // in the order in which patterns were first applied
  for (const ReplacedMatch& replaced : report.replaced) {
    auto line = std::find_if(lines.begin(), lines.end(), [&replaced](const Line& other) {
      return other.sum.pattern == replaced.pattern;
    });
    if (line == lines.end()) {
      line = lines.insert(line, Line());
      line->sum.pattern = replaced.pattern;
    }
    ++line->matches;
    line->sum.ops_before += replaced.ops_before;
    line->sum.ops_after += replaced.ops_after;
    line->sum.gradient_ops_before += replaced.gradient_ops_before;
    line->sum.gradient_ops_after += replaced.gradient_ops_after;
  }
  if (lines.empty()) return "no pattern matched\n";
  std::string text;
  for (const Line& line : lines) {
    absl::StrAppend(&text, line.sum.pattern, ": ", line.matches,
                    line.matches == 1 ? " match; " : " matches; ", Became(line.sum), "\n");
  }
  return text;
}

std::string RewriteExplainTable(const RewriteReport& report) {
  std::string text;
  for (const ReplacedMatch& replaced : report.replaced) {
    absl::StrAppend(&text, replaced.op, " \"", replaced.result, "\": ", replaced.pattern, ": ",
                    Became(replaced), "\n");
  }
  for (const NearMatch& near : report.near_matches) {
    absl::StrAppend(&text, near.op, ": not ", near.pattern, ": ", near.ops_found, " of ",
                    Count(near.ops, "op"), " found; ", near.reason, "\n");
  }
  return text;
}

}  // namespace fixpoint
