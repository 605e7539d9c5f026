// How often an op runs the blocks that it names: all that def-use analysis needs to know about it.

#ifndef FIXPOINT_PROTO_CONTROL_FLOW_H_
#define FIXPOINT_PROTO_CONTROL_FLOW_H_

#include "absl/strings/string_view.h"

namespace fixpoint {

// Whether an op runs its blocks at most once (conditional_block and its relatives). Any other op
// with a block counts as a loop (while, recurrent and their gradients; also an unknown op, for
// which that is the safe answer).
inline bool RunsAtMostOnce(absl::string_view op_type) {
  return op_type == "conditional_block" || op_type == "conditional_block_infer" ||
         op_type == "conditional_block_grad" || op_type == "run_program";
}

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_CONTROL_FLOW_H_
