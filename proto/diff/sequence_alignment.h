// Which elements of two sequences belong together: the alignment that a diff shows.
//
// Elements are compared by keys, at several levels of likeness: what is alike at a strict level is
// paired before what is alike at a looser one.

#ifndef FIXPOINT_PROTO_DIFF_SEQUENCE_ALIGNMENT_H_
#define FIXPOINT_PROTO_DIFF_SEQUENCE_ALIGNMENT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint {

// The keys of both sequences at one level; every level has the same lengths.
struct LevelKeys {
  std::vector<uint64_t> a;
  std::vector<uint64_t> b;
};

struct AlignedPair {
  int a = 0;
  int b = 0;
  int level = 0;  // where the keys are equal
};

struct SequenceAlignment {
  std::vector<AlignedPair> pairs;  // strictly increasing in a and in b
  // False: a stretch is so different that pairing it was given up; it is left unpaired.
  bool complete = true;
};

// Aligns two sequences; levels go from the strictest to the loosest. Equal sequences are paired
// element by element. The pairs are found from keys that occur once in both sequences (B. Cohen's
// patience diff), level by level, and then by shortest edit scripts of the stretches between them
// (Myers 1986, "An O(ND) difference algorithm and its variations").
//
// Time is O(n log n) for sequences that have such keys, and never more than O(kLongestEditScript *
// n) per level: a stretch that needs a longer edit script is given up. Memory is O(n).
SequenceAlignment AlignSequences(absl::Span<const LevelKeys> levels);

// Elements of a stretch that an edit script may remove and add.
inline constexpr int kLongestEditScript = 512;

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_DIFF_SEQUENCE_ALIGNMENT_H_
