// The ops of a pattern's `after` as they are written into a program in place of a match.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_REPLACEMENT_H_
#define FIXPOINT_TRANSPILER_PATTERNS_REPLACEMENT_H_

#include <string>
#include <variant>
#include <vector>

#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern_matcher.h"

namespace fixpoint {

struct Replacement {
  std::vector<OpDesc> ops;         // in order, over names of the program
  std::vector<VarDesc> made;       // what they write that is not declared yet
  std::vector<std::string> names;  // by the value of the pattern; "" for an inner one
};

// What an op of `after` leaves out it takes from the op of the same type in `before` that has the
// same number among those of its type. Roles and scopes are those of the op that wrote the same
// result, else those of the last matched op. A new variable is named after a result. Nothing is
// edited; `rewriter` gives names. Error is an Obstacle: an attribute cannot be computed
// (computed_attribute.h); the ops cannot read what they would, or give a result of another dtype or
// shape than its variable declares.
std::variant<Replacement, Obstacle> MakeReplacement(const Match& match, const Program& program,
                                                    Era era, Rewriter* rewriter);

// Gives an op what any op may carry that says what is done with it in training, as another has it.
void TakeRole(const OpDesc& like, OpDesc* op);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_REPLACEMENT_H_
