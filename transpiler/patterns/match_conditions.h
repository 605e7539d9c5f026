// Whether the ops of a match can be replaced by others that stand where the last of them does, so
// that everything else in the program reads what it read before.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_MATCH_CONDITIONS_H_
#define FIXPOINT_TRANSPILER_PATTERNS_MATCH_CONDITIONS_H_

#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "proto/program/program_fwd.h"
#include "transpiler/patterns/pattern_matcher.h"

namespace fixpoint {

struct ReplacedGradients;

// What hinders it; nothing if they can be replaced. The conditions:
//   1. What they write and a result is not is read by them and their gradient ops alone; it is not
//      persistable, and no attribute names it (`named`, NamesInAllAttributes of uses.h).
//   2. A capture is not written by them, and holds the same at the last of them, and at the first
//      gradient op, as where it is read.
//   3. A result that is not written by the last of them is neither read nor written in between.
//   4. Where there are gradients, names are unambiguous: no variable between them is written twice
//      or declared without a gradient, and no result is read by them.
// Linear in the readers and writers of the match's variables.
std::optional<Obstacle> FindObstacle(const Match& match, const ReplacedGradients& gradients,
                                     const absl::flat_hash_set<std::string>& named);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_MATCH_CONDITIONS_H_
