#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/diff/program_diff.h"

namespace fixpoint {
namespace {

using Change = Difference::Change;
using Subject = Difference::Subject;

absl::string_view Sign(Change change) {
  switch (change) {
    case Change::kRemoved:
      return "- ";
    case Change::kAdded:
      return "+ ";
    case Change::kChanged:
      return "~ ";
  }
  return "";
}

// "op 17", or "op 17 -> 19" if its position differs.
std::string OpPlace(const Difference& op) {
  if (op.index_a < 0) return absl::StrCat("op ", op.index_b);
  if (op.index_b < 0 || op.index_a == op.index_b) return absl::StrCat("op ", op.index_a);
  return absl::StrCat("op ", op.index_a, " -> ", op.index_b);
}

void AppendParts(const Difference& difference, absl::string_view indent, std::string* text) {
  for (const Difference::Part& part : difference.parts) {
    absl::StrAppend(text, indent, part.what, ": ", part.before, " -> ", part.after, "\n");
  }
}

void AppendDifference(const Difference& difference, std::string* text) {
  switch (difference.subject) {
    case Subject::kProgram:
      return AppendParts(difference, "~ ", text);
    case Subject::kBlock:
      if (difference.change == Change::kChanged) return AppendParts(difference, "~ ", text);
      absl::StrAppend(text, Sign(difference.change), difference.text, "\n");
      return;
    case Subject::kVariable:
      if (difference.change != Change::kChanged) {
        absl::StrAppend(text, Sign(difference.change), difference.text, "\n");
        return;
      }
      for (const Difference::Part& part : difference.parts) {
        absl::StrAppend(text, "- ", part.before, "\n+ ", part.after, "\n");
      }
      return;
    case Subject::kOp:
      absl::StrAppend(text, Sign(difference.change), OpPlace(difference), ": ", difference.text,
                      "\n");
      AppendParts(difference, "    ", text);
      return;
  }
}

bool HasOwnHeading(const Difference& difference) {
  return difference.subject == Subject::kBlock && difference.change != Change::kChanged;
}

std::string Heading(const Difference& difference) {
  if (difference.subject == Subject::kProgram) return "@@ program @@\n";
  if (HasOwnHeading(difference)) return "@@ blocks @@\n";
  return absl::StrCat("@@ block ", difference.block, " @@\n");
}

}  // namespace

std::string PrintDiff(const ProgramDiff& diff) {
  std::string text;
  std::string last_heading;
  for (const Difference& difference : diff.differences) {
    const std::string heading = Heading(difference);
    if (heading != last_heading) text += heading;
    last_heading = heading;
    AppendDifference(difference, &text);
  }
  for (int block : diff.given_up_blocks) {
    absl::StrAppend(&text, "# block ", block,
                    ": parts have too little in common to be compared op by op\n");
  }
  return text;
}

}  // namespace fixpoint
