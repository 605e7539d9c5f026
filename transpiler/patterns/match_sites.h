// Where the patterns of a rewrite may match: found in one walk through the program, and after that
// only around what is replaced.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_MATCH_SITES_H_
#define FIXPOINT_TRANSPILER_PATTERNS_MATCH_SITES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "transpiler/patterns/pattern.h"

namespace fixpoint {

// For each pattern the ops at which a match may end: its roots. A root that is not given for a
// pattern has no match of it.
class MatchSites {
 public:
  // `finds_all`: every op of a root's type is given, so that what fails can be told.
  // REQUIRES: patterns and program outlive this object.
  MatchSites(absl::Span<const Pattern* const> patterns, const Program& program, bool finds_all);

  // Begins a round of rewrites: the roots are in program order again.
  void BeginRound();

  // The first root of the pattern, by its position in `patterns`, at `*from` or after it, and its
  // place in `*from`; null after the last one. What a round inserts is at the end.
  const Op* FindRoot(size_t pattern, size_t* from) const;

  // Has to be called with the ops of a rewrite before they are removed or changed, and then with
  // those that were inserted or changed: of the forward and the backward part.
  void TouchBefore(absl::Span<const Op* const> ops);
  void TouchAfter(absl::Span<const Op* const> ops);

 private:
  // The ops of one type at which patterns may end.
  struct Roots {
    std::vector<size_t> patterns;
    std::vector<const Op*> ops;
    absl::btree_set<size_t> touched;  // positions in `ops` with something new around them
  };

  void Add(const Op& op);
  void FindMatches();
  // Notes the roots from which a pattern reaches one of these ops, or what one of them reads or
  // writes.
  void Touch(absl::Span<const Op* const> ops);

  const absl::Span<const Pattern* const> patterns_;
  const Program& program_;
  const Era era_;
  const bool finds_all_;
  size_t largest_ = 0;                                // ops of a pattern
  absl::flat_hash_map<std::string, Roots> roots_;     // by type
  absl::flat_hash_map<const Op*, size_t> positions_;  // in Roots::ops
  std::vector<std::vector<size_t>> matches_;          // of each pattern, positions in Roots::ops
  int64_t visits_left_ = 0;    // in this round, of ops around what is replaced
  bool all_may_match_ = true;  // all roots are given: nothing is known, or that took more visits
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_MATCH_SITES_H_
