// Which ops are of the forward part.

#ifndef FIXPOINT_OPS_FORWARD_OPS_H_
#define FIXPOINT_OPS_FORWARD_OPS_H_

#include <string>

#include "proto/program.h"

namespace fixpoint {

// The forward op type of a gradient op type ("conv2d" of "conv2d_grad" and "conv2d_grad_grad"), or
// "" of a type that is none.
std::string ForwardTypeOf(const std::string& type);

// Whether op_role is one of the forward part: neither Backward, Optimize nor LearningRate.
inline bool IsForwardRole(int role) {
  return (role & (kBackward | kOptimize | kLearningRate)) == 0;
}

// Whether an op belongs to the forward part: by its role, and no gradient by type.
bool IsForward(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FORWARD_OPS_H_
