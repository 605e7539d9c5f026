// The part of a program that trains, as text.

#ifndef FIXPOINT_TESTS_TESTING_TRAINING_OPS_H_
#define FIXPOINT_TESTS_TESTING_TRAINING_OPS_H_

#include <string>

#include "proto/program.h"

namespace fixpoint {

// The ops of block 0 behind the forward part: of the backward part, of the learning rate and of the
// optimizers. A line each, without the attributes.
std::string TrainingOps(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_TRAINING_OPS_H_
