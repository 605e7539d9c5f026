#include "runtime/beams/sentences.h"

#include "absl/strings/str_cat.h"

namespace fixpoint::beams {
namespace {

bool Cuts(const std::vector<uint64_t>& offsets, uint64_t below) {
  return !offsets.empty() && offsets.front() == 0 && offsets.back() == below &&
         std::is_sorted(offsets.begin(), offsets.end());
}

}  // namespace

absl::StatusOr<int64_t> SourceCount(absl::Span<const LoD> lods,
                                    absl::Span<const int64_t> word_counts) {
  if (lods.empty()) return absl::InvalidArgumentError("Ids is empty; want a tensor for each step");
  for (size_t t = 0; t < lods.size(); ++t) {
    const LoD& lod = lods[t];
    const bool fits = lod.size() == 2 && !lod[1].empty() && Cuts(lod[0], lod[1].size() - 1) &&
                      Cuts(lod[1], static_cast<uint64_t>(word_counts[t])) &&
                      lod[0].size() == lods[0][0].size();
    if (fits) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Ids[", t, "] has ", lod.size(), " levels of offsets for ", word_counts[t],
                     " words; want those of sources, as many in each step, and of prefixes"));
  }
  return static_cast<int64_t>(lods[0][0].size()) - 1;
}

int64_t PrefixOf(absl::Span<const uint64_t> prefixes, int64_t word) {
  const auto after =
      std::upper_bound(prefixes.begin(), prefixes.end(), static_cast<uint64_t>(word));
  return after - prefixes.begin() - 1;
}

absl::Status NoSuchWord(size_t step, int64_t word, size_t words) {
  return absl::InvalidArgumentError(absl::StrCat("Ids[", step, "] has ", words, " words, and Ids[",
                                                 step + 1, "] continues word ", word));
}

absl::Status TooManySentences(int64_t source, int64_t beam_size) {
  return absl::InvalidArgumentError(
      absl::StrCat("source ", source, " has more than beam_size, ", beam_size, ", sentences"));
}

}  // namespace fixpoint::beams
