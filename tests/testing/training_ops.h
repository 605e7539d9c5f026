// The part of a program that trains, as text.

#ifndef FIXPOINT_TESTS_TESTING_TRAINING_OPS_H_
#define FIXPOINT_TESTS_TESTING_TRAINING_OPS_H_

#include <string>

#include "proto/program/program.h"

namespace fixpoint {

// The ops of block 0 after the forward part, or those whose op_role has one of these bits. A line
// each, without the attributes.
std::string TrainingOps(const Program& program, int roles = kBackward | kOptimize | kLearningRate);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_TRAINING_OPS_H_
