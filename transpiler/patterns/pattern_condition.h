// A condition of a pattern's `where`: two sums and how they compare. docs/patterns.md has the
// grammar.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CONDITION_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CONDITION_H_

#include <string>

#include "transpiler/patterns/pattern_sum.h"

namespace fixpoint {

enum class Relation { kEqual, kUnequal, kLess, kAtMost, kGreater, kAtLeast };

struct PatternCondition {
  std::string text;  // "extent(x, 1) % 8 == 0"
  PatternSum left;
  Relation comparison = Relation::kEqual;
  PatternSum right;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CONDITION_H_
