// Whether the conditions of a pattern's `where` hold for a match.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_CONDITION_VALUES_H_
#define FIXPOINT_TRANSPILER_PATTERNS_CONDITION_VALUES_H_

#include <string>

#include "transpiler/patterns/pattern_condition.h"
#include "transpiler/patterns/pattern_matcher.h"

namespace fixpoint {

// Integers are compared as such, other numbers as doubles, or as floats where one of both has a
// float's precision. A condition does not hold where a side has no value: an extent that only a run
// knows, or a division by 0. REQUIRES: the match is complete.
bool Holds(const PatternCondition& condition, const Match& match);

// What a condition says of a match: "extent(x, 1) % 8 == 0 does not hold; extent(x, 1) is 12".
std::string WhyNot(const PatternCondition& condition, const Match& match);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_CONDITION_VALUES_H_
