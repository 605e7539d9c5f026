// Ops that run blocks. A block has a plan of its own, which is a step of the plan around it: outer
// values that it reads are given to it like feeds, outer variables that it writes lie in buffers
// that it keeps like persistable variables, and the rest lies in a part of the arena.

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/unset_values.h"

namespace fixpoint::executor {
namespace {

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
  std::vector<std::shared_ptr<TensorArray>> unset_arrays;  // which a loop begins to write
  Buffer memory;
  std::vector<uint8_t*> addresses;

  void Begin(const StepContext& run) {
    for (const auto& array : unset_arrays) array->Clear();
    const auto address = [&run](Buffer buffer) { return run.Of<uint8_t>(buffer).data(); };
    for (const KeptVariable& variable : kept) {
      addresses[variable.tensor] = address(variable.buffer);
      if (variable.is_set) {
        run.Of<bool>(*variable.is_set)[0] = variable.was_set && run.Of<bool>(*variable.was_set)[0];
      }
      if (!variable.before || address(variable.buffer) == address(*variable.before)) continue;
      std::memcpy(address(variable.buffer), address(*variable.before),
                  plan->buffers[variable.tensor].bytes());
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
    const StepContext inner(addresses, run.state(), run.state().block_runs[number]++);
    RETURN_IF_ERROR(RunSteps(*plan, inner));
    for (const KeptVariable& variable : kept) {
      if (!variable.is_set) continue;
      run.Of<bool>(*variable.is_set)[0] |=
          !variable.run_sets_it || inner.Of<bool>(*variable.run_sets_it)[0];
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<const Block*> BlockOf(const OpPlanner& op) {
  const auto blocks = op.op().sub_blocks();
  if (blocks.size() == 1) return blocks[0];
  return absl::InvalidArgumentError(
      absl::StrCat("the op names ", blocks.size(), " blocks; want one, in sub_block"));
}

// Gives the block what says whether one of its outer values is set.
void GiveFlag(OpPlanner& op, const Value& value, Buffer flag, PlanBuilder* inner,
              PlannedBlock* planned) {
  inner->Attach(value, IsSet{inner->AddGivenBuffer(op.builder().info(flag))});
  planned->given.push_back(flag);
}

// A value as its codes, if it is held as codes, so that a product in the block is on integers.
absl::Status Give(OpPlanner& op, const Value& value, PlanBuilder* inner, PlannedBlock* planned) {
  PassOnArray(op.builder(), value, inner, value);
  if (const IsSet* is_set = op.builder().Attached<IsSet>(value); is_set != nullptr) {
    GiveFlag(op, value, is_set->flag, inner, planned);
  }
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

// Has the block keep a variable, which begins with what it holds before the op.
absl::StatusOr<KeptVariable> Keep(OpPlanner& op, const WrittenAround& written, PlanBuilder* inner,
                                  PlannedBlock* planned) {
  PlanBuilder& builder = op.builder();
  const Variable& variable = written.before->variable();
  KeptVariable kept;
  kept.name = variable.name();
  PassOnArray(builder, *written.before, inner, *written.head);
  const IsSet* const was_set = builder.Attached<IsSet>(*written.before);
  if (builder.IsPlanned(*written.before)) {
    ASSIGN_OR_RETURN(kept.before, builder.Read(*written.before, Layout::kRowMajor));
    inner->AddKept(*written.head,
                   {builder.TypeOf(*written.before), builder.LodOf(*written.before)});
    if (was_set == nullptr) return kept;
    kept.was_set = was_set->flag;
  } else {
    inner->AddKeptUnset(variable);
  }
  kept.is_set =
      builder.NewBuffer(absl::StrCat(kept.name, " is set"), TensorType{VarType::BOOL, {1}});
  if (was_set != nullptr) GiveFlag(op, *written.head, *kept.is_set, inner, planned);
  return kept;
}

// Declares where a variable is after the op. REQUIRES: the block was planned.
absl::Status WriteExit(OpPlanner& op, const PlannedBlock& planned, const PlanBuilder& inner,
                       const WrittenAround& written, KeptVariable* kept) {
  PlanBuilder& builder = op.builder();
  const Value& after = *written.after;
  kept->tensor =
      planned.plan->persistables[inner.KeptNumber(written.before->variable())].buffer.index;
  kept->buffer = builder.Write(*written.exit, inner.TypeOf(after), Layout::kRowMajor);
  builder.SetLod(*written.exit, inner.LodOf(after));
  PassOnArray(inner, after, &builder, *written.exit);
  if (kept->is_set) {
    builder.Attach(*written.exit, IsSet{*kept->is_set});
    const IsSet* const run_sets_it = inner.Attached<IsSet>(after);
    if (run_sets_it != nullptr) kept->run_sets_it = run_sets_it->flag;
  }
  if (!kept->before) return absl::OkStatus();
  if (inner.LodOf(after) != builder.LodOf(*written.before)) {
    return absl::UnimplementedError(
        absl::StrCat("block ", planned.number, " writes \"", kept->name,
                     "\" with other offsets of sequences than it had before; want the same"));
  }
  // What the block reads unchanged is not written over.
  const std::vector<Buffer>& given = planned.given;
  if (std::find(given.begin(), given.end(), *kept->before) == given.end()) {
    builder.MayLieIn(kept->buffer, *kept->before);
  }
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
    ASSIGN_OR_RETURN(KeptVariable kept, Keep(op, written, &inner, planned.get()));
    planned->kept.push_back(std::move(kept));
    wanted.push_back(written.after);
  }
  ASSIGN_OR_RETURN(Plan plan, op.block_planner().PlanBlock(block, wanted, &inner));
  planned->addresses.resize(plan.buffers.size());
  planned->memory = op.Scratch("block", VarType::UINT8, plan.arena_bytes);
  planned->plan = std::make_shared<const Plan>(std::move(plan));
  for (size_t i = 0; i < planned->kept.size(); ++i) {
    RETURN_IF_ERROR(WriteExit(op, *planned, inner, crossing.written[i], &planned->kept[i]));
  }
  return planned;
}

// Adds the step that runs the block as `run` says.
void AddBlockStep(OpPlanner& op, std::shared_ptr<PlannedBlock> planned,
                  std::optional<Buffer> condition,
                  std::function<absl::Status(const StepContext&)> run) {
  std::vector<Buffer> reads = planned->given;
  std::vector<Buffer> writes;
  for (const KeptVariable& kept : planned->kept) {
    if (kept.before) reads.push_back(*kept.before);
    if (kept.was_set) reads.push_back(*kept.was_set);
    writes.push_back(kept.buffer);
    if (kept.is_set) writes.push_back(*kept.is_set);
  }
  if (condition) reads.push_back(*condition);
  writes.push_back(planned->memory);
  StepKernel kernel{std::move(reads), std::move(writes), std::move(run)};
  kernel.block = planned->plan;
  op.AddStep(std::move(kernel));
}

absl::StatusOr<Buffer> ReadCondition(OpPlanner& op, absl::string_view slot) {
  RETURN_IF_ERROR(op.CheckSize(slot, 1));
  return op.Read(slot, VarType::BOOL);
}

// What the variable holds after an op that never runs its block.
absl::Status KeepBefore(PlanBuilder& builder, const WrittenAround& written) {
  if (!builder.IsPlanned(*written.before)) return absl::OkStatus();
  const IsSet* const is_set = builder.Attached<IsSet>(*written.before);
  if (is_set != nullptr) builder.Attach(*written.exit, IsSet(*is_set));
  PassOnArray(builder, *written.before, &builder, *written.exit);
  return builder.Share(*written.exit, *written.before);
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
      RETURN_IF_ERROR(KeepBefore(op.builder(), written));
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
  for (const WrittenAround& written : crossing.written) {
    const auto* held = op.builder().Attached<HeldArray>(*written.exit);
    const bool is_unset = !op.builder().IsPlanned(*written.before);
    if (held != nullptr && is_unset) planned->unset_arrays.push_back(held->array);
  }
  for (size_t i = 0; i < crossing.written.size(); ++i) {
    if (crossing.written[i].before != &op.InputValue("Condition")) continue;
    condition = planned->kept[i].buffer;
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
