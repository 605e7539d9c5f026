#include "ops/lod.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {

absl::StatusOr<std::vector<Sequence>> SequencesOf(absl::string_view slot, DimsView dims,
                                                  const LoD& lod) {
  if (dims.empty() || lod.empty() || lod.back().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        slot, " ", DimsText(dims), " has no offsets of sequences; want a level of them"));
  }
  const std::vector<uint64_t>& offsets = lod.back();
  const bool is_ascending = std::is_sorted(offsets.begin(), offsets.end());
  if (!is_ascending || offsets.front() != 0 || offsets.back() != static_cast<uint64_t>(dims[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat(slot, " ", DimsText(dims), " has offsets up to ", offsets.back(),
                     "; want them ascending from 0 to the number of its rows"));
  }
  std::vector<Sequence> sequences;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    sequences.push_back({static_cast<int64_t>(offsets[i]), static_cast<int64_t>(offsets[i + 1])});
  }
  return sequences;
}

}  // namespace fixpoint
