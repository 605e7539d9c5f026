// The gradient ops of the ops of a match, which go with them: which ops these are, and between
// which gradients they stand.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_REPLACED_GRADIENTS_H_
#define FIXPOINT_TRANSPILER_PATTERNS_REPLACED_GRADIENTS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "ops/era.h"
#include "ops/gradient_links.h"
#include "proto/program/program_fwd.h"
#include "transpiler/patterns/pattern_matcher.h"

namespace fixpoint {

struct ReplacedGradients {
  // The gradient ops, and sums of gradients that only they make and read. Empty where the matched
  // ops have no gradients.
  absl::flat_hash_set<const Op*> ops;
  // The one that runs first. Null where there are none.
  const Op* first = nullptr;
  // By the value of the pattern: the gradient of a result that they read.
  absl::btree_map<int, const Value*> of_results;
  // What they contribute to the gradient of a capture, in program order. If there are several, one
  // sum adds them, perhaps to others.
  absl::btree_map<int, std::vector<const Value*>> of_captures;
};

// Errors are an Obstacle: a gradient op is not certainly that of a matched op; matched ops that
// gradients should pass have none; a gradient between them is read elsewhere; contributions are
// not added by one sum. Linear in the match and the readers of its gradients.
std::variant<ReplacedGradients, Obstacle> FindReplacedGradients(const Program& program,
                                                                const Match& match,
                                                                const GradientLinks& links,
                                                                Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_REPLACED_GRADIENTS_H_
