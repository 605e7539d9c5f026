// What an op that runs a block keeps of each run, where a gradient block reads it.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_KEEPING_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_KEEPING_H_

#include <memory>

#include "absl/status/status.h"
#include "runtime/executor/kept_runs.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/planned_block.h"

namespace fixpoint::executor {

// Where the part of a run lies in the memory of its tensors.
uint8_t* AddressOf(const KeptValue::Part& part, KeptRuns::Run& run);

class RunKeeping {
 public:
  explicit RunKeeping(OpPlanner& op) : op_(op) {}

  // Has the block compute what is kept. To be called before it is planned.
  void Want(BlockInPlanning* in_planning);
  // Finds where the block has it. To be called after that.
  absl::Status Finish(BlockInPlanning* in_planning, StepKernel* step);

  // In a run: forgets the runs of an earlier one; runs the block, and keeps what is wanted.
  struct Runner {
    std::shared_ptr<PlannedBlock> planned;
    std::shared_ptr<const HeldRuns> held;  // null: nothing is kept

    void Begin() const;
    absl::Status Run(const StepContext& run) const;
  };
  Runner runner(const std::shared_ptr<PlannedBlock>& planned) const { return {planned, held_}; }

 private:
  OpPlanner& op_;
  std::vector<ReadOfRun> reads_;
  std::shared_ptr<HeldRuns> held_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RUN_KEEPING_H_
