#include "transpiler/exchange/ranges_by_variable.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"

namespace fixpoint {

absl::StatusOr<std::vector<const LearnedRange*>> RangesByVariable(
    const std::vector<LearnedRange>& ranges) {
  RETURN_IF_ERROR(CheckAllAreKept(ranges));
  std::vector<const LearnedRange*> kept;
  absl::flat_hash_map<absl::string_view, const LearnedRange*> by_name;
  for (const LearnedRange& range : ranges) {
    const auto [found, is_new] = by_name.try_emplace(range.variable(), &range);
    if (is_new) {
      kept.push_back(&range);
      continue;
    }
    const LearnedRange& first = *found->second;
    if (range.is_observed) continue;  // of another value of the name, which is quantized
    if (first.scales != range.scales || first.zero_points != range.zero_points ||
        !(first.codes == range.codes)) {
      return absl::FailedPreconditionError(
          absl::StrCat("\"", range.variable(),
                       "\" is quantized in two ways; this form has one range for each "
                       "name, so that --format=table or --format=json is what shows both"));
    }
  }
  return kept;
}

}  // namespace fixpoint
