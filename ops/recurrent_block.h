// The op that runs a block for each step of sequences of one length (recurrent, StaticRNN of the
// reference): what passes between it and the variables of its block.

#ifndef FIXPOINT_OPS_RECURRENT_BLOCK_H_
#define FIXPOINT_OPS_RECURRENT_BLOCK_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

struct RecurrentBlock {
  // A sequence [steps, ...], and the block's variable of the same name, which holds a step [...].
  struct Sequence {
    const Argument* outer;
    const Variable* step;
  };
  // What a step finds in `before` is what the step before it left in `after`.
  struct State {
    const Argument* initial;
    const Variable* before;
    const Variable* after;
  };
  std::vector<Sequence> inputs;
  std::vector<Sequence> outputs;
  std::vector<State> states;
  bool is_reversed = false;  // the last step is the first to run
};

// For a recurrent op, or its gradient op, which repeats its slots. Error (kInvalidArgument): the op
// has no input, other numbers of states than of initial ones, or names a variable that its block
// does not declare, or a state or an output that this does not write.
absl::StatusOr<RecurrentBlock> RecurrentBlockOf(const Op& op);

// Whether the op runs its block as recurrent does.
bool IsRecurrent(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_RECURRENT_BLOCK_H_
