// Which ops belong to the forward part, and, for a gradient op, the type of the op that it is the
// gradient of: the one place that finds it, in the schema or, without one, in the type's name.
// Which op of that type it is, ops/gradient_matcher.h finds.

#ifndef FIXPOINT_OPS_FORWARD_OPS_H_
#define FIXPOINT_OPS_FORWARD_OPS_H_

#include <string>

#include "proto/program/op.h"

namespace fixpoint {

// The forward op type of a gradient op type ("conv2d" for "conv2d_grad" and "conv2d_grad_grad"), or
// "" for any other type.
std::string ForwardTypeOf(const std::string& type);

// Whether op_role belongs to the forward part: not Backward, Optimize or LearningRate.
inline bool IsForwardRole(int role) {
  return (role & (kBackward | kOptimize | kLearningRate)) == 0;
}

// Whether an op belongs to the forward part: by its role, and not a gradient by its type.
bool IsForward(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FORWARD_OPS_H_
