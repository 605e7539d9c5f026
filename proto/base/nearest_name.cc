#include "proto/base/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fixpoint {
namespace {

constexpr size_t kLongestName = 256;

// The edits between two names ("optimal string alignment"), or some number above `limit`.
size_t EditDistance(absl::string_view a, absl::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({replaced, last[j] + 1, now[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

// How many edits make a name of another. A one-letter name becomes a different name by any edit.
size_t MostEdits(absl::string_view name, absl::string_view candidate) {
  if (name.size() < 2) return 0;
  return std::max<size_t>(1, std::max(name.size(), candidate.size()) / 3);
}

bool GoesOnAfter(absl::string_view name, absl::string_view candidate) {
  return !name.empty() && candidate.size() > name.size() && absl::StartsWith(candidate, name) &&
         absl::StrContains("._@/", candidate.substr(name.size(), 1));
}

}  // namespace

std::string NearestName(absl::string_view name, absl::Span<const std::string> candidates) {
  if (name.size() > kLongestName) return "";
  size_t fewest = kLongestName;
  const std::string* nearest = nullptr;
  for (const std::string& candidate : candidates) {
    const size_t limit = std::min(fewest, MostEdits(name, candidate));
    const size_t distance = EditDistance(name, candidate, limit);
    if (distance > limit || (nearest != nullptr && distance == fewest)) continue;
    nearest = &candidate;
    fewest = distance;
  }
  if (nearest != nullptr) return *nearest;
  for (const std::string& candidate : candidates) {
    if (!GoesOnAfter(name, candidate)) continue;
    if (nearest == nullptr || candidate.size() < nearest->size()) nearest = &candidate;
  }
  return nearest == nullptr ? "" : *nearest;
}

std::string DidYouMean(absl::string_view name, absl::Span<const std::string> candidates) {
  const std::string nearest = NearestName(name, candidates);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

std::string FirstNames(absl::Span<const std::string> names, size_t shown) {
  const size_t left_out = names.size() > shown ? names.size() - shown : 0;
  const std::string text = absl::StrJoin(names.first(names.size() - left_out), ", ");
  return left_out == 0 ? text : absl::StrCat(text, " and ", left_out, " more");
}

std::string OfferNames(absl::string_view name, absl::Span<const std::string> candidates,
                       size_t shown) {
  const std::string nearest = DidYouMean(name, candidates);
  if (!nearest.empty() || candidates.empty()) return nearest;
  return absl::StrCat("; there ", candidates.size() == 1 ? "is " : "are ",
                      FirstNames(candidates, shown));
}

}  // namespace fixpoint
