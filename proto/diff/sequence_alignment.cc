#include "proto/diff/sequence_alignment.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace fixpoint {
namespace {

// Each round looks at a stretch once and splits it; a deeper split is left to the edit scripts.
constexpr int kAnchorRounds = 16;

// The elements [a_begin, a_end) and [b_begin, b_end), none of them paired.
struct Stretch {
  int a_begin;
  int a_end;
  int b_begin;
  int b_end;

  bool empty() const { return a_begin == a_end || b_begin == b_end; }
};

// Pairs (a, b), increasing in both.
using Pairs = std::vector<std::pair<int, int>>;

// The longest subsequence, increasing in b, of pairs that increase in a.
Pairs LongestIncreasing(const Pairs& pairs) {
  std::vector<int> tails;  // tails[n]: the pair that ends the best subsequence of length n + 1
  std::vector<int> before(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto place =
        std::lower_bound(tails.begin(), tails.end(), pairs[i].second,
                         [&pairs](int tail, int b) { return pairs[tail].second < b; });
    before[i] = place == tails.begin() ? -1 : *(place - 1);
    if (place == tails.end()) {
      tails.push_back(static_cast<int>(i));
    } else {
      *place = static_cast<int>(i);
    }
  }
  Pairs longest(tails.size());
  int at = tails.empty() ? -1 : tails.back();
  for (size_t i = tails.size(); i-- > 0; at = before[at]) longest[i] = pairs[at];
  return longest;
}

// Pairs of elements whose key occurs once in either part of the stretch.
Pairs UniquePairs(const LevelKeys& keys, const Stretch& stretch) {
  struct Occurrences {
    int in_a = 0;
    int in_b = 0;
    int b = 0;
  };
  absl::flat_hash_map<uint64_t, Occurrences> occurrences;
  occurrences.reserve(stretch.a_end - stretch.a_begin);
  for (int a = stretch.a_begin; a < stretch.a_end; ++a) ++occurrences[keys.a[a]].in_a;
  for (int b = stretch.b_begin; b < stretch.b_end; ++b) {
    const auto it = occurrences.find(keys.b[b]);
    if (it == occurrences.end()) continue;
    ++it->second.in_b;
    it->second.b = b;
  }
  Pairs pairs;
  for (int a = stretch.a_begin; a < stretch.a_end; ++a) {
    const Occurrences& found = occurrences[keys.a[a]];
    if (found.in_a == 1 && found.in_b == 1) pairs.emplace_back(a, found.b);
  }
  return pairs;
}

// The pairs that a shortest edit script of the stretch keeps; nothing of them, and false, if it is
// longer than kLongestEditScript.
bool FindEditScript(const LevelKeys& keys, const Stretch& stretch, Pairs* kept) {
  const int a_size = stretch.a_end - stretch.a_begin;
  const int b_size = stretch.b_end - stretch.b_begin;
  // reach[edits][diagonal]: how far into a one gets; diagonal = a - b, from -edits in steps of 2.
  std::vector<std::vector<int>> reach;
  const auto step_start = [&reach](int edits, int diagonal) {
    const std::vector<int>& last = reach[edits - 1];
    const int at = (diagonal + edits) / 2;  // last[at] is diagonal + 1, last[at - 1] diagonal - 1
    const bool adds = at == 0 || (at < edits && last[at - 1] < last[at]);
    return std::make_pair(adds, adds ? last[at] : last[at - 1] + 1);
  };
  const int limit = std::min(kLongestEditScript, a_size + b_size);
  int edits = 0;
  for (bool found = false;; ++edits) {
    if (edits > limit) return false;
    std::vector<int> now(edits + 1, -1);
    for (int i = 0; i <= edits && !found; ++i) {
      const int diagonal = 2 * i - edits;
      int a = edits == 0 ? 0 : step_start(edits, diagonal).second;
      while (a < a_size && a - diagonal < b_size &&
             keys.a[stretch.a_begin + a] == keys.b[stretch.b_begin + a - diagonal]) {
        ++a;
      }
      now[i] = a;
      found = a >= a_size && a - diagonal >= b_size;
    }
    reach.push_back(std::move(now));
    if (found) break;
  }
  int a = a_size;
  int diagonal = a_size - b_size;
  for (; edits >= 0; --edits) {
    const auto [adds, start] = edits == 0 ? std::make_pair(false, 0) : step_start(edits, diagonal);
    while (a > start) {
      --a;
      kept->emplace_back(stretch.a_begin + a, stretch.b_begin + a - diagonal);
    }
    if (!adds) --a;
    diagonal += adds ? 1 : -1;
  }
  std::reverse(kept->begin(), kept->end());
  return true;
}

class Aligner {
 public:
  explicit Aligner(absl::Span<const LevelKeys> levels)
      : levels_(levels),
        a_size_(static_cast<int>(levels[0].a.size())),
        b_size_(static_cast<int>(levels[0].b.size())),
        partner_(a_size_, -1),
        level_of_(a_size_, 0) {}

  SequenceAlignment Run() {
    TrimEnds(0, {0, a_size_, 0, b_size_});
    for (int level = 0; level < LevelCount(); ++level) {
      for (const Stretch& stretch : UnpairedStretches()) PairAnchors(level, stretch);
    }
    bool complete = true;
    for (int level = 0; level < LevelCount(); ++level) {
      complete = true;
      for (const Stretch& stretch : UnpairedStretches()) {
        complete = PairByEditScript(level, stretch) && complete;
      }
    }
    SequenceAlignment alignment;
    alignment.complete = complete;
    for (int a = 0; a < a_size_; ++a) {
      if (partner_[a] >= 0) alignment.pairs.push_back({a, partner_[a], level_of_[a]});
    }
    return alignment;
  }

 private:
  int LevelCount() const { return static_cast<int>(levels_.size()); }

  void Pair(int level, int a, int b) {
    partner_[a] = b;
    level_of_[a] = level;
  }

  bool Alike(int level, int a, int b) const { return levels_[level].a[a] == levels_[level].b[b]; }

  // Pairs equal elements at both ends; returns what is left between them.
  Stretch TrimEnds(int level, Stretch stretch) {
    for (; !stretch.empty() && Alike(level, stretch.a_begin, stretch.b_begin);
         ++stretch.a_begin, ++stretch.b_begin) {
      Pair(level, stretch.a_begin, stretch.b_begin);
    }
    for (; !stretch.empty() && Alike(level, stretch.a_end - 1, stretch.b_end - 1);
         --stretch.a_end, --stretch.b_end) {
      Pair(level, stretch.a_end - 1, stretch.b_end - 1);
    }
    return stretch;
  }

  std::vector<Stretch> UnpairedStretches() const {
    std::vector<Stretch> stretches;
    Stretch stretch = {0, 0, 0, 0};
    const auto close = [&](int a, int b) {
      stretch.a_end = a;
      stretch.b_end = b;
      if (!stretch.empty()) stretches.push_back(stretch);
      stretch.a_begin = a + 1;
      stretch.b_begin = b + 1;
    };
    for (int a = 0; a < a_size_; ++a) {
      if (partner_[a] >= 0) close(a, partner_[a]);
    }
    close(a_size_, b_size_);
    return stretches;
  }

  // A key that is not unique in a stretch may be unique in the parts that unique keys split it
  // into.
  void PairAnchors(int level, const Stretch& whole) {
    std::vector<Stretch> stretches = {whole};
    for (int round = 0; round < kAnchorRounds && !stretches.empty(); ++round) {
      std::vector<Stretch> parts;
      for (const Stretch& stretch : stretches) {
        const Pairs anchors = LongestIncreasing(UniquePairs(levels_[level], stretch));
        if (anchors.empty()) continue;
        Stretch part = stretch;
        for (const auto& [a, b] : anchors) {
          Pair(level, a, b);
          part.a_end = a;
          part.b_end = b;
          if (!part.empty()) parts.push_back(part);
          part.a_begin = a + 1;
          part.b_begin = b + 1;
        }
        part.a_end = stretch.a_end;
        part.b_end = stretch.b_end;
        if (!part.empty()) parts.push_back(part);
      }
      stretches = std::move(parts);
    }
  }

  // Returns whether the stretch was short or alike enough.
  bool PairByEditScript(int level, const Stretch& whole) {
    const Stretch stretch = TrimEnds(level, whole);
    if (stretch.empty()) return true;
    Pairs kept;
    if (!FindEditScript(levels_[level], stretch, &kept)) return false;
    for (const auto& [a, b] : kept) Pair(level, a, b);
    return true;
  }

  absl::Span<const LevelKeys> levels_;
  int a_size_;
  int b_size_;
  std::vector<int> partner_;   // of each element of a; -1: none
  std::vector<int> level_of_;  // of each pair, by a
};

}  // namespace

SequenceAlignment AlignSequences(absl::Span<const LevelKeys> levels) {
  return Aligner(levels).Run();
}

}  // namespace fixpoint
