#include "tests/testing/open_ends.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace fixpoint {

std::string WithOpenEndsOf(absl::string_view expected, absl::string_view actual) {
  const std::vector<absl::string_view> wanted = absl::StrSplit(expected, '\n');
  std::vector<absl::string_view> lines = absl::StrSplit(actual, '\n');
  for (size_t i = 0; i < std::min(wanted.size(), lines.size()); ++i) {
    absl::string_view beginning = wanted[i];
    if (!absl::ConsumeSuffix(&beginning, " ...")) continue;
    if (absl::StartsWith(lines[i], beginning)) lines[i] = wanted[i];
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace fixpoint
