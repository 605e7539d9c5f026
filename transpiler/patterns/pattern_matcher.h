// Finds the ops of a program that are those of a pattern's `before`: by what they read and write,
// not by names. Whether they can be replaced is asked after that (match_conditions.h).

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_MATCHER_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_MATCHER_H_

#include <optional>
#include <string>
#include <vector>

#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern.h"

namespace fixpoint {

// What stands for the parts of a pattern. Null and empty where nothing does yet.
struct Match {
  const Pattern* pattern = nullptr;
  std::vector<const Op*> ops;            // by the op of `before`
  std::vector<const Value*> values;      // by the value; null for what `after` makes
  std::vector<OpDesc::Attr> attributes;  // by the variable

  // The op of the block that runs last. REQUIRES: all ops are there.
  const Op& last_op() const;
  bool Has(const Op& op) const;
};

// An op by its number in the program as it was given: "block 0, op 17 (relu)"; one that a pattern
// wrote, by what it writes: "block 0, new op "y" (relu)".
std::string DescribeGiven(const Op& op);

// Why ops that look like a pattern are not replaced.
struct Obstacle {
  const Op* op = nullptr;  // at which it was found
  std::string reason;      // "Out is read by block 0, op 20 (conv2d), which is not matched"
};

// A match that failed after some of the ops of `before` were found, or because of the slots,
// attributes, types and conditions of its root alone.
struct PartialMatch {
  int ops = 0;  // how many
  Obstacle obstacle;
};

class PatternMatcher {
 public:
  // REQUIRES: the pattern outlives this object.
  PatternMatcher(const Pattern& pattern, Era era) : pattern_(pattern), era_(era) {}

  // The match whose root is this op, the first if there are several: an op that commutes is tried
  // in both orders. Time is linear in the pattern, in the readers of its results and in the orders
  // of ops that commute, as far as names and conditions do not depend on several of these at once;
  // for those a fixed number of comparisons is made.
  std::optional<Match> MatchAt(const Op& root) const;

  // Why an op at which MatchAt finds nothing is no root: from the longest match that failed. What
  // is wrong with the root itself is said if all other ops of the pattern are there. Nothing where
  // the op has another type, or no more than its type.
  std::optional<PartialMatch> WhyNotAt(const Op& root) const;

 private:
  class Search;

  const Pattern& pattern_;
  const Era era_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_MATCHER_H_
