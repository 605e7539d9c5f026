// Training programs without what the backward pass and the optimizer added.

#ifndef FIXPOINT_TESTS_OPS_FORWARD_PART_H_
#define FIXPOINT_TESTS_OPS_FORWARD_PART_H_

#include <string>

#include "proto/program/program.h"

namespace fixpoint {

// The ops of the forward part and what they use. The loss op is as any other.
Program ForwardPart(const Program& training);

// An empty program of the same release.
Program EmptyProgramLike(const Program& program);

// A startup program in the order of the names of what it initialises, which no order decides.
// Without what `but` declares.
Program Initializers(const Program& startup, const Program& but);

// What the op that a training program marks as the loss's writes.
std::string LossOf(const Program& training);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_OPS_FORWARD_PART_H_
