// op_role_var: pairs of a parameter and its gradient, by which the reference finds the op that
// computes a gradient.

#ifndef FIXPOINT_TRANSPILER_TRAIN_ROLE_PAIRS_H_
#define FIXPOINT_TRANSPILER_TRAIN_ROLE_PAIRS_H_

#include <string>
#include <vector>

#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"

namespace fixpoint {

// Takes the pair of a gradient, which another op is to compute, from an op of the program, which
// gets a mark; returns it, or nothing if the op has no such pair.
std::vector<std::string> TakeRolePair(const Op& from, const std::string& gradient,
                                      Rewriter* rewriter);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_ROLE_PAIRS_H_
