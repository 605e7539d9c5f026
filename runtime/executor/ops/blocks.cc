// Ops that run blocks (planned_block.h).

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/followed_loop.h"
#include "runtime/executor/ops/planned_block.h"
#include "runtime/executor/ops/run_keeping.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/unset_values.h"

namespace fixpoint::executor {
namespace {

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
  if (!may_run) {
    for (const WrittenAround& written : CrossingOf(op.op(), *block).written) {
      RETURN_IF_ERROR(KeepBefore(op.builder(), written));
    }
    return absl::OkStatus();
  }
  BlockInPlanning in_planning;
  RunKeeping keeping(op);
  keeping.Want(&in_planning);
  RETURN_IF_ERROR(GiveOuterValues(op, *block, {}, &in_planning));
  RETURN_IF_ERROR(PlanBlock(op, *block, &in_planning));
  StepKernel step = BlockStep(in_planning.planned, nullptr);
  RETURN_IF_ERROR(keeping.Finish(&in_planning, &step));
  if (condition) step.reads.push_back(*condition);
  step.run = [=, runner = keeping.runner(in_planning.planned)](const StepContext& run) {
    const bool holds = !condition || run.Of<bool>(*condition)[0];
    runner.Begin();
    runner.planned->Begin(run);
    return holds ? runner.Run(run) : absl::OkStatus();
  };
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

// A block that is run again: what it reads from an array may be what it wrote before, which may be
// larger than what the array began with. Error (kUnimplemented): it writes ever larger tensors.
absl::StatusOr<std::unique_ptr<BlockInPlanning>> PlanRepeatedBlock(OpPlanner& op,
                                                                   const Block& block,
                                                                   RunKeeping* keeping) {
  constexpr int kMostPlans = 4;
  GrownArrays grown;
  std::string growing;
  for (int i = 0; i < kMostPlans; ++i) {
    auto in_planning = std::make_unique<BlockInPlanning>();
    in_planning->varying.emplace();
    keeping->Want(in_planning.get());
    RETURN_IF_ERROR(GiveOuterValues(op, block, grown, in_planning.get()));
    RETURN_IF_ERROR(PlanInner(op, block, in_planning.get()));
    growing.clear();
    for (const WrittenAround& written : in_planning->crossing.written) {
      const auto* const before = in_planning->builder.Attached<HeldArray>(*written.head);
      const auto* const after = in_planning->builder.Attached<HeldArray>(*written.after);
      if (before == nullptr || after == nullptr || after->FitsIn(*before)) continue;
      grown[written.head] = *after;
      growing = written.before->variable().name();
    }
    if (!growing.empty()) continue;
    const std::vector<ArrayContents> contents =
        ContentsAfterLoop(op.builder(), *in_planning, op.InputValue("Condition"));
    RETURN_IF_ERROR(FinishBlock(op, in_planning.get()));
    for (size_t written = 0; written < contents.size(); ++written) {
      SetContents(*in_planning->crossing.written[written].exit, contents[written], &op.builder());
    }
    return in_planning;
  }
  return absl::UnimplementedError(
      absl::StrCat("block ", block.index(), " writes ever larger tensors into \"", growing,
                   "\"; want ones whose most rows are known before the run"));
}

absl::Status PlanWhile(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  ASSIGN_OR_RETURN(Buffer condition, ReadCondition(op, "Condition"));
  RunKeeping keeping(op);
  ASSIGN_OR_RETURN(const std::unique_ptr<BlockInPlanning> in_planning,
                   PlanRepeatedBlock(op, *block, &keeping));
  const std::vector<WrittenAround>& all_written = in_planning->crossing.written;
  for (size_t i = 0; i < all_written.size(); ++i) {
    if (all_written[i].before != &op.InputValue("Condition")) continue;
    condition = in_planning->planned->kept[i].buffer;
  }
  StepKernel step = BlockStep(in_planning->planned, nullptr);
  RETURN_IF_ERROR(keeping.Finish(in_planning.get(), &step));
  step.reads.push_back(condition);
  const std::string& name = op.InputValue("Condition").variable().name();
  step.run = [condition, name = name,
              runner = keeping.runner(in_planning->planned)](const StepContext& run) {
    runner.Begin();
    runner.planned->Begin(run);
    while (run.Of<bool>(condition)[0]) {
      RETURN_IF_ERROR(run.state().loops->BeginIteration(name));
      RETURN_IF_ERROR(runner.Run(run));
    }
    return absl::OkStatus();
  };
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

}  // namespace

OpPlans BlockPlans() { return {{"conditional_block", PlanConditional}, {"while", PlanWhile}}; }

}  // namespace fixpoint::executor
