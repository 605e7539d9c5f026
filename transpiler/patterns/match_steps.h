// The order in which the ops of a pattern are looked for.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_MATCH_STEPS_H_
#define FIXPOINT_TRANSPILER_PATTERNS_MATCH_STEPS_H_

#include <optional>

#include "transpiler/patterns/pattern.h"

namespace fixpoint {

// Fills the steps of a pattern whose `before` and conditions are there: from the last op upwards,
// and downwards only where that does not reach an op. Returns the position of an op of `before`
// that no value leads to; nothing if there is none.
std::optional<int> AddMatchSteps(Pattern* pattern);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_MATCH_STEPS_H_
