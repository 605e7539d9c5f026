// Ops that run blocks. A block has a plan of its own, which is a step of the plan around it: what
// the block reads of around is given to it as feeds are, what it writes there lies in buffers that
// it keeps as persistable variables are kept, and the rest in a part of the arena.

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// A variable that a block keeps, in memory of the plan around it.
struct KeptAround {
  std::string name;
  Buffer before;
  Buffer after;
  int64_t bytes;
};

// The plan of a block, and the buffers around it that its own stand for.
struct PlannedBlock {
  std::shared_ptr<const Plan> plan;
  int number = 0;             // of the block
  std::vector<Buffer> given;  // as plan->feeds
  std::vector<KeptAround> kept;
  Buffer memory;
  std::vector<uint8_t*> addresses;

  void Begin(const StepContext& run) {
    const auto address = [&run](Buffer buffer) { return run.Of<uint8_t>(buffer).data(); };
    for (const KeptAround& variable : kept) {
      uint8_t* const tensor = address(variable.after);
      // They may lie in one place.
      std::memmove(tensor, address(variable.before), variable.bytes);
      for (const Plan::Binding& binding : plan->persistables) {
        if (binding.name == variable.name) addresses[binding.buffer.index] = tensor;
      }
    }
    for (size_t i = 0; i < given.size(); ++i) {
      addresses[plan->feeds[i].buffer.index] = address(given[i]);
    }
    for (size_t i = 0; i < plan->buffers.size(); ++i) {
      if (plan->buffers[i].offset >= 0) addresses[i] = address(memory) + plan->buffers[i].offset;
    }
  }

  absl::Status Run(const StepContext& run) {
    return RunSteps(*plan, StepContext(addresses, run.state(), run.state().block_runs[number]++));
  }
};

absl::StatusOr<const Block*> BlockOf(const OpPlanner& op) {
  const auto blocks = op.op().sub_blocks();
  if (blocks.size() == 1) return blocks[0];
  return absl::InvalidArgumentError(
      absl::StrCat("the op names ", blocks.size(), " blocks; want one, in sub_block"));
}

// A value as its codes, where it is held as such, so that a product in the block is on integers.
absl::Status Give(OpPlanner& op, const Value& value, PlanBuilder* inner, PlannedBlock* planned) {
  ASSIGN_OR_RETURN(const Codes* codes, op.builder().ReadCodes(value, op.builder().LayoutOf(value)));
  if (codes != nullptr && !op.builder().HoldsCodes(value)) {
    inner->AddGivenCodes(value, op.builder());
    planned->given.insert(planned->given.end(), {codes->codes, codes->ranges});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Buffer buffer, op.builder().Read(value, Layout::kRowMajor));
  inner->AddGiven(value, op.builder().TypeOf(value));
  planned->given.push_back(buffer);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<PlannedBlock>> PlanBlock(OpPlanner& op,
                                                        const BlockCrossing& crossing,
                                                        const Block& block) {
  auto planned = std::make_shared<PlannedBlock>();
  planned->number = block.index();
  PlanBuilder inner(PlanBuilder::Of::kBlock);
  std::vector<const Value*> wanted;
  for (const Value* value : crossing.reads) {
    RETURN_IF_ERROR(Give(op, *value, &inner, planned.get()));
  }
  for (const WrittenAround& written : crossing.written) {
    const TensorType type = op.builder().TypeOf(*written.before);
    ASSIGN_OR_RETURN(const Buffer before, op.builder().Read(*written.before, Layout::kRowMajor));
    const Buffer after = op.builder().Write(*written.exit, type, Layout::kRowMajor);
    planned->kept.push_back(
        {written.exit->variable().name(), before, after, op.builder().info(after).bytes()});
    inner.AddKept(*written.head, type);
    wanted.push_back(written.after);
  }
  ASSIGN_OR_RETURN(Plan plan, op.block_planner().PlanBlock(block, wanted, &inner));
  planned->addresses.resize(plan.buffers.size());
  planned->memory = op.Scratch("block", VarType::UINT8, plan.arena_bytes);
  planned->plan = std::make_shared<const Plan>(std::move(plan));
  return planned;
}

// Adds the step that runs the block as `run` says.
void AddBlockStep(OpPlanner& op, const PlannedBlock& planned, std::optional<Buffer> condition,
                  std::function<absl::Status(const StepContext&)> run) {
  std::vector<Buffer> stays = planned.given;
  if (condition) stays.push_back(*condition);
  StepKernel kernel{stays, {planned.memory}, std::move(run)};
  kernel.block = planned.plan;
  for (const KeptAround& variable : planned.kept) {
    kernel.reads.push_back(variable.before);
    kernel.writes.push_back(variable.after);
    // Unless what was before is read under another name too.
    if (std::find(stays.begin(), stays.end(), variable.before) == stays.end()) {
      op.builder().MayLieIn(variable.after, variable.before);
    }
  }
  op.AddStep(std::move(kernel));
}

absl::StatusOr<Buffer> ReadCondition(OpPlanner& op, absl::string_view slot) {
  RETURN_IF_ERROR(op.CheckSize(slot, 1));
  return op.Read(slot, VarType::BOOL);
}

// Runs the block where the condition holds or, if it is not to be a scalar, no Cond is empty.
absl::Status PlanConditional(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  std::optional<Buffer> condition;
  bool may_run = true;
  if (op.attributes().Bool("is_scalar_condition")) {
    ASSIGN_OR_RETURN(condition, ReadCondition(op, "Cond"));
  } else {
    for (int i = 0; i < op.InputCount("Cond"); ++i) {
      may_run = may_run && op.InputType("Cond", i).size() > 0;
    }
  }
  const BlockCrossing crossing = CrossingOf(op.op(), *block);
  if (!may_run) {
    for (const WrittenAround& written : crossing.written) {
      RETURN_IF_ERROR(op.builder().Share(*written.exit, *written.before));
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto planned, PlanBlock(op, crossing, *block));
  AddBlockStep(op, *planned, condition, [=](const StepContext& run) {
    const bool holds = !condition || run.Of<bool>(*condition)[0];
    planned->Begin(run);
    return holds ? planned->Run(run) : absl::OkStatus();
  });
  return absl::OkStatus();
}

// Without an end where the condition stays true.
absl::Status PlanWhile(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  ASSIGN_OR_RETURN(Buffer condition, ReadCondition(op, "Condition"));
  const BlockCrossing crossing = CrossingOf(op.op(), *block);
  ASSIGN_OR_RETURN(const auto planned, PlanBlock(op, crossing, *block));
  for (size_t i = 0; i < crossing.written.size(); ++i) {
    if (crossing.written[i].before == &op.InputValue("Condition"))
      condition = planned->kept[i].after;
  }
  AddBlockStep(op, *planned, condition, [=](const StepContext& run) {
    planned->Begin(run);
    while (run.Of<bool>(condition)[0]) RETURN_IF_ERROR(planned->Run(run));
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

}  // namespace

OpPlans BlockPlans() { return {{"conditional_block", PlanConditional}, {"while", PlanWhile}}; }

}  // namespace fixpoint::executor
