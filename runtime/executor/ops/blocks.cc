// Ops that run blocks. A block has a plan of its own, which is a step of the plan around it: outer
// values that it reads are given to it like feeds, outer variables that it writes lie in buffers
// that it keeps like persistable variables, and the rest lies in a part of the arena.

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

// The plan of a block, and the outer buffers that its own stand for.
struct PlannedBlock {
  std::shared_ptr<const Plan> plan;
  int number = 0;              // of the block
  std::vector<Buffer> given;   // as plan->feeds
  std::vector<Buffer> kept;    // as plan->persistables
  std::vector<Buffer> before;  // what `kept` begins with
  Buffer memory;
  std::vector<uint8_t*> addresses;

  void Begin(const StepContext& run) {
    const auto address = [&run](Buffer buffer) { return run.Of<uint8_t>(buffer).data(); };
    for (size_t i = 0; i < kept.size(); ++i) {
      const int inner = plan->persistables[i].buffer.index;
      addresses[inner] = address(kept[i]);
      if (addresses[inner] == address(before[i])) continue;
      std::memcpy(addresses[inner], address(before[i]), plan->buffers[inner].bytes());
    }
    AddressInTensors(*plan, absl::MakeSpan(addresses));
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

// A value as its codes, if it is held as codes, so that a product in the block is on integers.
absl::Status Give(OpPlanner& op, const Value& value, PlanBuilder* inner, PlannedBlock* planned) {
  ASSIGN_OR_RETURN(const std::optional<Codes> codes,
                   op.builder().ReadCodes(value, op.builder().LayoutOf(value)));
  if (codes && !op.builder().HoldsCodes(value)) {
    inner->AddGivenCodes(value, op.builder());
    for (const Buffer buffer : codes->buffers()) planned->given.push_back(buffer);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Buffer buffer, op.builder().Read(value, Layout::kRowMajor));
  inner->AddGiven(value, op.builder());
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
    ASSIGN_OR_RETURN(const Buffer before, op.builder().Read(*written.before, Layout::kRowMajor));
    planned->before.push_back(before);
    inner.AddKept(*written.head,
                  {op.builder().TypeOf(*written.before), op.builder().LodOf(*written.before)});
    wanted.push_back(written.after);
  }
  for (size_t i = 0; i < crossing.written.size(); ++i) {
    const WrittenAround& written = crossing.written[i];
    planned->kept.push_back(
        op.builder().Write(*written.exit, op.builder().TypeOf(*written.before), Layout::kRowMajor));
    op.builder().SetLod(*written.exit, op.builder().LodOf(*written.before));
    // What the block reads unchanged is not written over.
    const std::vector<Buffer>& given = planned->given;
    if (std::find(given.begin(), given.end(), planned->before[i]) == given.end()) {
      op.builder().MayLieIn(planned->kept[i], planned->before[i]);
    }
  }
  ASSIGN_OR_RETURN(Plan plan, op.block_planner().PlanBlock(block, wanted, &inner));
  for (const WrittenAround& written : crossing.written) {
    if (inner.LodOf(*written.after) == inner.LodOf(*written.head)) continue;
    return absl::UnimplementedError(
        absl::StrCat("block ", block.index(), " writes \"", written.after->variable().name(),
                     "\" with other offsets of sequences than it had before; want the same"));
  }
  planned->addresses.resize(plan.buffers.size());
  planned->memory = op.Scratch("block", VarType::UINT8, plan.arena_bytes);
  planned->plan = std::make_shared<const Plan>(std::move(plan));
  return planned;
}

// Adds the step that runs the block as `run` says.
void AddBlockStep(OpPlanner& op, std::shared_ptr<PlannedBlock> planned,
                  std::optional<Buffer> condition,
                  std::function<absl::Status(const StepContext&)> run) {
  std::vector<Buffer> reads = planned->given;
  reads.insert(reads.end(), planned->before.begin(), planned->before.end());
  if (condition) reads.push_back(*condition);
  std::vector<Buffer> writes = planned->kept;
  writes.push_back(planned->memory);
  StepKernel kernel{std::move(reads), std::move(writes), std::move(run)};
  kernel.block = planned->plan;
  op.AddStep(std::move(kernel));
}

absl::StatusOr<Buffer> ReadCondition(OpPlanner& op, absl::string_view slot) {
  RETURN_IF_ERROR(op.CheckSize(slot, 1));
  return op.Read(slot, VarType::BOOL);
}

// Runs the block if the condition holds or, if it need not be a scalar, if no Cond is empty.
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
  AddBlockStep(op, planned, condition, [=](const StepContext& run) {
    const bool holds = !condition || run.Of<bool>(*condition)[0];
    planned->Begin(run);
    return holds ? planned->Run(run) : absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status PlanWhile(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  ASSIGN_OR_RETURN(Buffer condition, ReadCondition(op, "Condition"));
  const BlockCrossing crossing = CrossingOf(op.op(), *block);
  ASSIGN_OR_RETURN(const auto planned, PlanBlock(op, crossing, *block));
  for (size_t i = 0; i < crossing.written.size(); ++i) {
    if (crossing.written[i].before == &op.InputValue("Condition")) condition = planned->kept[i];
  }
  const std::string& name = op.InputValue("Condition").variable().name();
  AddBlockStep(op, planned, condition, [=, name = name](const StepContext& run) {
    planned->Begin(run);
    while (run.Of<bool>(condition)[0]) {
      RETURN_IF_ERROR(run.state().loops->BeginIteration(name));
      RETURN_IF_ERROR(planned->Run(run));
    }
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

}  // namespace

OpPlans BlockPlans() { return {{"conditional_block", PlanConditional}, {"while", PlanWhile}}; }

}  // namespace fixpoint::executor
