// The backward pass: the gradient ops of a loss, as the reference's append_backward writes them
// (backward.py of 1.8 to 2.6).

#ifndef FIXPOINT_OPS_BACKWARD_H_
#define FIXPOINT_OPS_BACKWARD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// A parameter, and the variable that holds the gradient of the loss with respect to it.
struct ParameterGradient {
  std::string parameter;
  std::string gradient;
};

struct BackwardOptions {
  // Variables without a gradient. In addition, these have none: variables declared with
  // stop_gradient; if that is not declared, those that are fed; and tensors without floating-point
  // elements.
  std::vector<std::string> no_gradient;
};

// Appends to block 0 the ops that compute the gradients of the sum of `loss` with respect to
// everything that it depends on: op_role Backward, new variables `<variable>@GRAD`. The op that
// writes the loss becomes the loss op. Returns the parameters (persistables that no op of block 0
// writes) with their gradients, by name. For a block that a loop or a conditional runs, a gradient
// block is added, which declares the gradients that its ops make.
//
// Errors: kInvalidArgument: no block declares the loss, no op of block 0 writes it, or it depends
// on no parameter; the program has backward ops. kUnimplemented: the gradient would have to pass an
// op that is not known, one whose gradient is not known, a quantizer that Transpile inserted or that
// has no gradient, or a variable that is written again after it was read; in a block, also an outer
// variable that the block reads after it has written it, one that a conditional may keep, and one of
// which only a loop's last run counts. The program is then as before.
absl::StatusOr<std::vector<ParameterGradient>> AppendBackward(Program* program,
                                                              absl::string_view loss,
                                                              const BackwardOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_BACKWARD_H_
