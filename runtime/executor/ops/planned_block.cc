#include "runtime/executor/ops/planned_block.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/unset_values.h"

namespace fixpoint::executor {
namespace {

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

bool IsLoopHead(const Value& value) { return value.origin() == Value::Origin::kLoopHead; }

// Has the block keep a variable, which begins with what it holds before the op.
absl::StatusOr<KeptVariable> Keep(OpPlanner& op, const WrittenAround& written,
                                  const GrownArrays& grown, PlanBuilder* inner,
                                  PlannedBlock* planned) {
  PlanBuilder& builder = op.builder();
  const Variable& variable = written.before->variable();
  KeptVariable kept;
  kept.name = variable.name();
  PassOnArray(builder, *written.before, inner, *written.head);
  if (const auto held = grown.find(written.head); held != grown.end()) {
    inner->Attach(*written.head, HeldArray(held->second));
  }
  // What earlier runs of the block wrote.
  if (IsLoopHead(*written.head)) SetContents(*written.head, {}, inner);
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

// The block keeps no variable that held nothing before, and that it never writes.
void ForgetUnwritten(BlockInPlanning* in_planning) {
  std::vector<WrittenAround>& written = in_planning->crossing.written;
  std::vector<KeptVariable>& kept = in_planning->planned->kept;
  for (size_t i = written.size(); i-- > 0;) {
    if (in_planning->builder.IsPlanned(*written[i].after)) continue;
    written.erase(written.begin() + static_cast<std::ptrdiff_t>(i));
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// What a variable's array has after the op: what it had before or, if the block has run, what that
// wrote.
ArrayContents ContentsAtExit(const PlanBuilder& around, const PlanBuilder& inner,
                             const WrittenAround& written) {
  if (IsLoopHead(*written.head)) return {};
  return OneOf(ContentsOf(around, written.before), ContentsOf(inner, written.after));
}

// Declares where a variable is after the op. REQUIRES: the block was planned.
absl::Status WriteExit(OpPlanner& op, const PlanBuilder& inner, const WrittenAround& written,
                       PlannedBlock* planned, KeptVariable* kept) {
  PlanBuilder& builder = op.builder();
  const Value& after = *written.after;
  kept->tensor =
      planned->plan->persistables[inner.KeptNumber(written.before->variable())].buffer.index;
  kept->buffer = builder.Write(*written.exit, inner.TypeOf(after), Layout::kRowMajor);
  builder.SetLod(*written.exit, inner.LodOf(after));
  PassOnArray(inner, after, &builder, *written.exit);
  SetContents(*written.exit, ContentsAtExit(builder, inner, written), &builder);
  const auto* const array = builder.Attached<HeldArray>(*written.exit);
  const bool is_unset = !kept->before && !IsCarriedByLoop(builder, written.before);
  if (array != nullptr && is_unset) planned->unset_arrays.push_back(array->array);
  if (kept->is_set) {
    builder.Attach(*written.exit, IsSet{*kept->is_set});
    const IsSet* const run_sets_it = inner.Attached<IsSet>(after);
    if (run_sets_it != nullptr) kept->run_sets_it = run_sets_it->flag;
  }
  if (!kept->before) return absl::OkStatus();
  if (inner.LodOf(after) != builder.LodOf(*written.before)) {
    return absl::UnimplementedError(
        absl::StrCat("block ", planned->number, " writes \"", kept->name,
                     "\" with other offsets of sequences than it had before; want the same"));
  }
  // What the block reads unchanged is not written over.
  const std::vector<Buffer>& given = planned->given;
  if (std::find(given.begin(), given.end(), *kept->before) == given.end()) {
    builder.MayLieIn(kept->buffer, *kept->before);
  }
  return absl::OkStatus();
}

}  // namespace

void PlannedBlock::Begin(const StepContext& run) {
  invariants_are_computed = false;
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

absl::Status PlannedBlock::Run(const StepContext& run) {
  const StepContext inner(addresses, run.state(), run.state().block_runs[number]++);
  if (!invariants_are_computed) {
    for (const Step& step : plan->constant_steps) RETURN_IF_ERROR(RunStep(*plan, step, inner));
    invariants_are_computed = true;
  }
  RETURN_IF_ERROR(RunSteps(*plan, inner));
  for (const KeptVariable& variable : kept) {
    if (!variable.is_set) continue;
    run.Of<bool>(*variable.is_set)[0] |=
        !variable.run_sets_it || inner.Of<bool>(*variable.run_sets_it)[0];
  }
  return absl::OkStatus();
}

absl::StatusOr<const Block*> BlockOf(const OpPlanner& op) {
  const auto blocks = op.op().sub_blocks();
  if (blocks.size() == 1) return blocks[0];
  return absl::InvalidArgumentError(
      absl::StrCat("the op names ", blocks.size(), " blocks; want one, in sub_block"));
}

void GiveFlag(OpPlanner& op, const Value& value, Buffer flag, PlanBuilder* inner,
              PlannedBlock* planned) {
  inner->Attach(value, IsSet{inner->AddGivenBuffer(op.builder().info(flag))});
  planned->given.push_back(flag);
}

absl::Status GiveOuterValues(OpPlanner& op, const Block& block, const GrownArrays& grown,
                             BlockInPlanning* in_planning) {
  PlannedBlock* const planned = in_planning->planned.get();
  planned->number = block.index();
  in_planning->crossing = CrossingOf(op.op(), block);
  for (const Value* value : in_planning->crossing.reads) {
    RETURN_IF_ERROR(Give(op, *value, &in_planning->builder, planned));
  }
  for (const WrittenAround& written : in_planning->crossing.written) {
    ASSIGN_OR_RETURN(KeptVariable kept, Keep(op, written, grown, &in_planning->builder, planned));
    planned->kept.push_back(std::move(kept));
    in_planning->wanted.push_back(written.after);
  }
  return absl::OkStatus();
}

absl::Status PlanInner(OpPlanner& op, const Block& block, BlockInPlanning* in_planning) {
  RETURN_IF_ERROR(op.block_planner().PlanBlock(block, in_planning->wanted, &in_planning->builder));
  ForgetUnwritten(in_planning);
  return absl::OkStatus();
}

absl::Status FinishBlock(OpPlanner& op, BlockInPlanning* in_planning) {
  PlannedBlock* const planned = in_planning->planned.get();
  std::optional<std::vector<Buffer>> varying = in_planning->varying;
  if (varying) {
    for (const WrittenAround& written : in_planning->crossing.written) {
      const IsSet* const is_set = in_planning->builder.Attached<IsSet>(*written.head);
      if (is_set != nullptr) varying->push_back(is_set->flag);
    }
  }
  ASSIGN_OR_RETURN(Plan plan, op.block_planner().Finish(&in_planning->builder, varying));
  planned->addresses.resize(plan.buffers.size());
  planned->memory = op.Scratch("block", VarType::UINT8, plan.arena_bytes);
  planned->plan = std::make_shared<const Plan>(std::move(plan));
  for (size_t i = 0; i < planned->kept.size(); ++i) {
    RETURN_IF_ERROR(WriteExit(op, in_planning->builder, in_planning->crossing.written[i], planned,
                              &planned->kept[i]));
  }
  return absl::OkStatus();
}

absl::Status PlanBlock(OpPlanner& op, const Block& block, BlockInPlanning* in_planning) {
  RETURN_IF_ERROR(PlanInner(op, block, in_planning));
  return FinishBlock(op, in_planning);
}

StepKernel BlockStep(const std::shared_ptr<PlannedBlock>& planned,
                     std::function<absl::Status(const StepContext&)> run) {
  std::vector<Buffer> reads = planned->given;
  std::vector<Buffer> writes;
  for (const KeptVariable& kept : planned->kept) {
    if (kept.before) reads.push_back(*kept.before);
    if (kept.was_set) reads.push_back(*kept.was_set);
    writes.push_back(kept.buffer);
    if (kept.is_set) writes.push_back(*kept.is_set);
  }
  writes.push_back(planned->memory);
  StepKernel kernel{std::move(reads), std::move(writes), std::move(run)};
  kernel.block = planned->plan;
  return kernel;
}

}  // namespace fixpoint::executor
