// The plan of a block that an op runs, as a step of the plan around it: outer values that the block
// reads are given to it like feeds, outer variables that it writes lie in buffers that it keeps
// like persistable variables, and the rest lies in a part of the arena.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_BLOCK_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_BLOCK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/plan_builder.h"
#include "runtime/executor/tensor_array.h"

namespace fixpoint::executor {

// An outer variable that a block writes.
struct KeptVariable {
  std::string name;
  Buffer buffer;                 // where it is after the op, in the plan around
  int tensor = -1;               // where the block keeps it, in the block's plan
  std::optional<Buffer> before;  // what it begins with; nothing: unset
  // Whether it is set, if it may be unset when the op begins: after the op; when the op begins, if
  // it may be set then; and, in the block's plan, after a run of the block that may leave it unset.
  std::optional<Buffer> is_set;
  std::optional<Buffer> was_set;
  std::optional<Buffer> run_sets_it;
};

// The plan of a block, and the outer buffers that its own stand for.
struct PlannedBlock {
  std::shared_ptr<const Plan> plan;
  int number = 0;             // of the block
  std::vector<Buffer> given;  // as plan->feeds
  std::vector<KeptVariable> kept;
  std::vector<std::shared_ptr<TensorArray>> unset_arrays;  // which the op begins to write
  Buffer memory;
  std::vector<uint8_t*> addresses;
  bool invariants_are_computed = false;  // in this run of the op

  // Begins with the outer values of this run of the op.
  void Begin(const StepContext& run);
  // Runs the block once.
  absl::Status Run(const StepContext& run);
};

// The arrays that runs of a block before write larger tensors into, by the values at its head.
using GrownArrays = absl::flat_hash_map<const Value*, HeldArray>;

// A block while its plan is made.
struct BlockInPlanning {
  BlockCrossing crossing;
  PlanBuilder builder{PlanBuilder::Of::kBlock};
  std::shared_ptr<PlannedBlock> planned = std::make_shared<PlannedBlock>();
  std::vector<const Value*> wanted;  // of the block
  // Of a block that is run again and again: what it is given that is not the same each time, except
  // for what says whether the variables that it keeps are set.
  std::optional<std::vector<Buffer>> varying;
};

// The only block of an op. Error: it has not one.
absl::StatusOr<const Block*> BlockOf(const OpPlanner& op);

// Gives the block the outer values that it reads and keeps.
absl::Status GiveOuterValues(OpPlanner& op, const Block& block, const GrownArrays& grown,
                             BlockInPlanning* in_planning);
// Then plans what the block computes.
absl::Status PlanInner(OpPlanner& op, const Block& block, BlockInPlanning* in_planning);
// Then finishes the block's plan, adds what the plan around has of it, and declares where outer
// variables are after the op.
absl::Status FinishBlock(OpPlanner& op, BlockInPlanning* in_planning);
// Both.
absl::Status PlanBlock(OpPlanner& op, const Block& block, BlockInPlanning* in_planning);

// Gives the block what says whether one of its values is set.
void GiveFlag(OpPlanner& op, const Value& value, Buffer flag, PlanBuilder* inner,
              PlannedBlock* planned);

// The step that runs the block as `run` says. The caller may add what else it reads and writes.
StepKernel BlockStep(const std::shared_ptr<PlannedBlock>& planned,
                     std::function<absl::Status(const StepContext&)> run);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PLANNED_BLOCK_H_
