// Gradient blocks: what an op that runs one (while_grad, conditional_block_grad) has to do with the
// op that ran the block's forward block. That op kept the variables of each run of it, which the
// gradient block reads.

#ifndef FIXPOINT_OPS_BLOCK_GRADIENTS_H_
#define FIXPOINT_OPS_BLOCK_GRADIENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// The forward block of the block that the op runs; null if that is no gradient block.
const Block* ForwardBlockOf(const Op& op);

// What stands for the runs of its block that an op keeps; null if it keeps none.
const Argument* KeptRunsOf(const Op& op);

// The op that runs the gradient block of the block that this op runs, and reads what it keeps; null
// if none does, so that nothing need be kept.
const Op* ReaderOfKeptRuns(const Op& op);

// The variables of a loop's X that a run of its block begins with a copy of: the gradient block
// reads them as they were before that run. These are tensors, but neither what an op of the block
// updates in place nor what is persistable and does not change.
std::vector<const Variable*> CopiedForEachRun(const Op& loop);

// The gradients that pass between an op that runs a gradient block and the block. The block's
// variables of them belong to one run of it, whichever block declares them.
struct BlockGradients {
  // A gradient that the block reads. Several of one inner variable are added up.
  struct Given {
    const Argument* outer;    // null: zeros before the first run
    const Variable* inner;    // null: no op of the block names it
    const Argument* of;       // the forward op's output; null: none
    bool is_by_step = false;  // a run of the block reads its step
  };
  // A gradient of an input of the forward op.
  struct Made {
    const Argument* of;
    const Argument* outer;
    const Variable* inner;    // null: no op of the block names it
    int carried = -1;         // the place in `given` of the same gradient; -1: summed over runs
    bool is_by_step = false;  // a run of the block makes its step
  };
  const Argument* kept_runs = nullptr;
  std::vector<Given> given;
  std::vector<Made> made;
  bool is_reversed = false;  // the first run was that of the last step

  bool Has(const Variable& inner) const;
};

// Error (kInvalidArgument): the op has not the form of one that runs a gradient block.
absl::StatusOr<BlockGradients> BlockGradientsOf(const Op& op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_BLOCK_GRADIENTS_H_
