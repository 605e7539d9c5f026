// A backward pass for tests: the gradient ops that the reference's append_backward and an SGD
// optimizer would add, as far as the schemas know them.

#ifndef FIXPOINT_TESTS_TESTING_BACKWARD_H_
#define FIXPOINT_TESTS_TESTING_BACKWARD_H_

#include <string>

#include "proto/wire/program.pb.h"

namespace fixpoint {

// Appends the gradient ops of `loss`, a variable of block 0, with blocks for the gradients of loops
// and conditionals, and an sgd op for each parameter that has a gradient. Gradients that several
// ops give are summed. Variables with stop_gradient, and what is no FP32 or FP64 tensor, have none.
// REQUIRES: the op types are known, and block 0 declares "learning_rate".
void AppendBackwardAndSgd(const std::string& loss, ProgramDesc* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_BACKWARD_H_
