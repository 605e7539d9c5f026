#include "transpiler/plan/reasons.h"

namespace fixpoint {
namespace {

struct Row {
  Reason reason;
  absl::string_view code;
  absl::string_view meaning;
};

constexpr Row kRows[] = {
#define FIXPOINT_REASON(name, code, meaning) {Reason::k##name, code, meaning},
#include "transpiler/plan/reasons.inc"
#undef FIXPOINT_REASON
};

}  // namespace

absl::string_view ReasonCode(Reason reason) { return kRows[static_cast<int>(reason)].code; }

absl::string_view ReasonMeaning(Reason reason) { return kRows[static_cast<int>(reason)].meaning; }

std::optional<Reason> ReasonOfCode(absl::string_view code) {
  for (const Row& row : kRows) {
    if (row.code == code) return row.reason;
  }
  return std::nullopt;
}

std::vector<Reason> AllReasons() {
  std::vector<Reason> reasons;
  for (const Row& row : kRows) reasons.push_back(row.reason);
  return reasons;
}

}  // namespace fixpoint
