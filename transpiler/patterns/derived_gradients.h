// The gradient ops of what stands in place of a match, derived anew: from the gradients of its
// results to those of its captures, under the names that the replaced gradient ops had for both.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_DERIVED_GRADIENTS_H_
#define FIXPOINT_TRANSPILER_PATTERNS_DERIVED_GRADIENTS_H_

#include <variant>
#include <vector>

#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern_matcher.h"
#include "transpiler/patterns/replaced_gradients.h"
#include "transpiler/patterns/replacement.h"

namespace fixpoint {

struct DerivedGradients {
  std::vector<OpDesc> ops;    // in order, over names of the program
  std::vector<VarDesc> made;  // what they write that is not declared yet
  // The replaced ops contributed several times to a gradient, these once: what the sum no longer
  // adds, or the sum itself if it would add nothing else.
  std::vector<const Argument*> dropped_addends;
  std::vector<const Op*> dropped_sums;
};

// Derived as AppendBackward derives it (ops/backward.h), for the captures that had a gradient and
// what depends on them; nothing where none had. Nothing is edited; `rewriter` gives names.
// Error is an Obstacle: an op of `after` has no gradient, or a capture gets none.
// REQUIRES: there are replaced gradient ops, and FindObstacle finds nothing.
std::variant<DerivedGradients, Obstacle> DeriveGradients(const Match& match,
                                                         const Replacement& replacement,
                                                         const ReplacedGradients& replaced,
                                                         const Program& program,
                                                         Rewriter* rewriter);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_DERIVED_GRADIENTS_H_
