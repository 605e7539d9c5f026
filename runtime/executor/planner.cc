#include "runtime/executor/planner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/array_slots.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/unset_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/program/type_names.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/cleared_rows.h"
#include "runtime/executor/kept_runs.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/as_reference.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/plan_builder.h"
#include "runtime/executor/unset_values.h"
#include "runtime/guarded_call.h"

namespace fixpoint::executor {

namespace {

absl::Status AtOp(const Op& op, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(Describe(op), ": ", status.message()));
}

class Planner final : public BlockPlanner {
 public:
  Planner(ProgramPlan& program, const PlanRequest& request, const FindPersistable& find_persistable)
      : shared_(program),
        program_(program.program()),
        era_(program.era()),
        request_(request),
        find_persistable_(find_persistable) {}

  absl::StatusOr<Plan> Run() {
    for (const FeedType& feed : request_.feeds) feeds_.emplace(feed.name, feed.given);
    std::vector<const Value*> fetched;
    for (const std::string& name : request_.fetches) {
      ASSIGN_OR_RETURN(const Value* value, FetchedValue(name));
      fetched.push_back(value);
    }
    PlanBuilder builder;
    RETURN_IF_ERROR(PlanOps(program_.block(0), fetched, &builder));
    for (const Value* value : fetched) {
      RETURN_IF_ERROR(AddEntry(*value, &builder));
      AddSetCheck(*value, NoValue(*value), &builder);
      if (builder.Attached<HeldArray>(*value) == nullptr) continue;
      return absl::UnimplementedError(absl::StrCat("fetch \"", value->variable().name(),
                                                   "\" is an array of tensors; want a tensor"));
    }
    PlanBuilder::Form form;
    form.keeps_all = request_.keeps_all;
    form.has_constants = request_.has_constants;
    form.recomputing = request_.recomputing;
    return builder.Finish(fetched, form);
  }

  absl::Status PlanBlock(const Block& block, const std::vector<const Value*>& wanted,
                         PlanBuilder* builder) override {
    RETURN_IF_ERROR(PlanOps(block, wanted, builder));
    for (const Value* value : wanted) {
      if (builder->Attached<ReadAtEnd>(*value) != nullptr) {
        RETURN_IF_ERROR(AddReadAtEnd(*value, builder));
      }
      const IsSet* const is_set = builder->Attached<IsSet>(*value);
      if (is_set != nullptr) builder->AddResult(is_set->flag);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Plan> Finish(PlanBuilder* builder,
                              const std::optional<std::vector<Buffer>>& varying) override {
    PlanBuilder::Form form;
    form.keeps_all = request_.keeps_all;
    form.varying = varying;
    return builder->Finish({}, form);
  }

 private:
  static absl::Status AddReadAtEnd(const Value& value, PlanBuilder* builder) {
    if (!builder->IsPlanned(value)) return NoValue(value);
    ASSIGN_OR_RETURN(const Buffer buffer, builder->Read(value, Layout::kRowMajor));
    builder->AddResult(buffer);
    const RunShape* const shape = builder->RunShapeOf(value);
    if (shape == nullptr) return absl::OkStatus();
    builder->AddResult(shape->dims);
    for (const Buffer level : shape->offsets) builder->AddResult(level);
    return absl::OkStatus();
  }

  absl::Status PlanOps(const Block& block, const std::vector<const Value*>& wanted,
                       PlanBuilder* builder) {
    const LiveOps& live = shared_.Of(block, wanted);
    const Planning planning{
        era_,           request_.backward, shared_.numbers(),        shared_.begun(), live.demand,
        live.gradients, shared_.forms(),   shared_.never_negative(), *builder,        *this};
    // This comes first, because an op may do the work of later ones.
    for (const LiveOp& op : live.ops) {
      if (absl::Status status = AddEntries(op, builder); !status.ok()) return AtOp(*op.op, status);
      // What a block keeps it has been given.
      if (block.parent() != nullptr) continue;
      for (const Value* value : op.written) {
        if (builder->Keeps(value->variable())) AddPersistable(value->variable(), builder);
      }
    }
    // A block that an op runs is given them as values of the block around it.
    if (block.parent() == nullptr) RETURN_IF_ERROR(ShowFeeds(live, builder));
    for (const LiveOp& op : live.ops) {
      const absl::Status status = GuardedCall("its outputs", [&] { return PlanOp(op, planning); });
      if (!status.ok()) return AtOp(*op.op, status);
      if (request_.observation == nullptr) continue;
      for (const Value* value : op.written) {
        if (value->origin() == Value::Origin::kWrite) RETURN_IF_ERROR(Show(*value, builder));
      }
    }
    return absl::OkStatus();
  }

  // Adds the step that shows a value, if it is observed and an op reads it.
  absl::Status Show(const Value& value, PlanBuilder* builder) {
    const std::optional<int> number = shared_.ObservedNumber(value);
    if (!number || !builder->IsPlanned(value)) return absl::OkStatus();
    if (builder->TypeOf(value).dtype != VarType::FP32) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Buffer buffer, builder->Read(value, builder->LayoutOf(value)));
    Step step;
    step.name = "observe";
    step.reads = {buffer};
    const std::optional<RunShape>& run_shape = builder->info(buffer).run_shape;
    if (run_shape) step.reads.push_back(run_shape->dims);
    step.run = [buffer, shape = run_shape, number = *number,
                &show = request_.observation->show](const StepContext& run) {
      return show(number, run.Floats(buffer).first(run.CountOf(shape, buffer.size)));
    };
    step.in_each_run = true;
    builder->AddStep(std::move(step));
    return absl::OkStatus();
  }

  absl::Status ShowFeeds(const LiveOps& live, PlanBuilder* builder) {
    if (request_.observation == nullptr) return absl::OkStatus();
    absl::flat_hash_set<const Value*> seen;
    for (const LiveOp& op : live.ops) {
      for (const auto* values : {&op.read.wanted, &op.read.optional}) {
        for (const Value* value : *values) {
          if (!IsEntry(*value) || feeds_.count(value->variable().name()) == 0) continue;
          if (seen.insert(value).second) RETURN_IF_ERROR(Show(*value, builder));
        }
      }
    }
    return absl::OkStatus();
  }

  // This includes variables that no block declares.
  const Variable* FindVariable(const std::string& name) const {
    if (const Variable* declared = program_.Find(program_.block(0), name); declared != nullptr) {
      return declared;
    }
    for (const Op& op : program_.block(0).ops()) {
      for (const Argument* output : op.outputs()) {
        if (output->name() == name) return output->variable();
      }
    }
    return nullptr;
  }

  // The value that a variable has at the end.
  absl::StatusOr<const Value*> FetchedValue(const std::string& name) const {
    const Variable* variable = FindVariable(name);
    if (variable == nullptr || variable->values().empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("fetch \"", name,
                       "\" has no value; want a variable of block 0 that is fed, "
                       "initialised or written"));
    }
    return variable->values().back();
  }

  // Adds what an op of the program reads and no op writes: feeds, or variables of the scope.
  absl::Status AddEntries(const LiveOp& op, PlanBuilder* builder) {
    for (const Value* value : op.read.wanted) {
      if (IsEntry(*value)) RETURN_IF_ERROR(AddEntry(*value, builder));
    }
    for (const Value* value : op.read.optional) FindEntry(*value, builder);
    return absl::OkStatus();
  }

  static bool IsEntry(const Value& value) {
    return value.block().parent() == nullptr && (value.origin() == Value::Origin::kEntry ||
                                                 (value.op() != nullptr && IsFeed(*value.op())));
  }

  // REQUIRES, for a value that an op writes: that op was planned. The op that runs a block has
  // given it the outer values that it reads.
  absl::Status AddEntry(const Value& value, PlanBuilder* builder) {
    FindEntry(value, builder);
    return builder->IsPlanned(value) ? absl::OkStatus() : NoValue(value);
  }

  // The same if the value is there.
  void FindEntry(const Value& value, PlanBuilder* builder) {
    if (builder->IsPlanned(value) || !IsEntry(value)) return;
    const Variable& variable = value.variable();
    if (const auto feed = feeds_.find(variable.name()); feed != feeds_.end()) {
      builder->AddFeed(value, variable.name(), feed->second);
      return;
    }
    AddPersistable(variable, builder);
    if (builder->HasPersistable(variable)) builder->AddEntry(value);
  }

  // Adds the variable's tensor, if the scope has one.
  void AddPersistable(const Variable& variable, PlanBuilder* builder) {
    if (builder->HasPersistable(variable)) return;
    if (const auto given = find_persistable_(variable.name()); given) {
      builder->AddPersistable(variable, *given);
    }
  }

  absl::Status PlanOp(const LiveOp& live, const Planning& planning) {
    const Op& op = *live.op;
    PlanBuilder& builder = planning.builder;
    RETURN_IF_ERROR(live.form);
    OpPlanner planner(op, planning);
    if (builder.IsAbsorbed(op)) {
      planner.PassRowsOn();
      planner.SetOutputLods();
      return absl::OkStatus();
    }
    for (const Value* value : live.read.wanted) RETURN_IF_ERROR(AddEntry(*value, &builder));
    for (const Value* value : live.read.optional) FindEntry(*value, &builder);
    for (const Value* value : live.found_in_outputs) {
      const bool is_there = IsEntry(*value) && builder.HasPersistable(value->variable());
      if (is_there) RETURN_IF_ERROR(AddEntry(*value, &builder));
    }
    builder.BeginOp(&op);
    for (const Argument* input : op.inputs()) {
      if (input->variable() == nullptr) continue;
      const bool is_array = builder.Attached<HeldArray>(*input->value()) != nullptr;
      if (is_array && !MayBeTensorArray(*input)) return IsTensorArray(*input);
      const bool may_be_unset = builder.Attached<IsSet>(*input->value()) != nullptr;
      if (may_be_unset && !MayBeUnset(*input, era_)) {
        AddSetCheck(*input->value(), NoValue(*input), &builder);
      }
    }
    ClearedRows cleared(&planner);
    RETURN_IF_ERROR(cleared.Begin());
    const absl::Status added = AddSteps(live, planner);
    if (added.ok()) cleared.End();
    if (added.ok()) planner.PassRowsOn();
    RETURN_IF_ERROR(CheckRunShapes(live, planner));
    RETURN_IF_ERROR(added);
    // A variable that a block writes keeps its offsets.
    if (op.sub_blocks().empty()) planner.SetOutputLods();
    RETURN_IF_ERROR(KeepWhatIsNotWritten(op, &builder));
    RETURN_IF_ERROR(CheckGradients(op, builder));
    return builder.status();
  }

  // A plan function says which inputs it takes whose shape a run decides.
  static absl::Status CheckRunShapes(const LiveOp& op, const OpPlanner& planner) {
    for (const auto* values : {&op.read.wanted, &op.read.optional}) {
      for (const Value* value : *values) {
        if (!planner.builder().IsPlanned(*value)) continue;
        const RunShape* const shape = planner.builder().RunShapeOf(*value);
        if (shape == nullptr || planner.TakesRunShape(*value)) continue;
        return absl::UnimplementedError(absl::StrCat(
            "\"", value->variable().name(), "\" has extents that ", Describe(*shape->op),
            " decides in a run; want ones that are known before, or --backend=reference"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddSteps(const LiveOp& op, OpPlanner& planner) {
    if (op.is_computed_once && !GivesReferenceBits(*op.op, *op.entry, planner)) {
      return PlanAsReference(program_, planner);
    }
    return op.entry->plan(planner);
  }

  // Whether the plan function takes the op in every form that the interpreter takes, and gives its
  // bits. Kernels have fewer forms of optional inputs and of numbers that are not FP32.
  bool GivesReferenceBits(const Op& op, const OpPlanEntry& entry, OpPlanner& planner) const {
    if (!entry.rounds_once || !entry.rounds_once(planner.attributes())) return false;
    const auto has_kernels = [](const TensorType& type) {
      return type.dtype == VarType::FP32 || type.dtype == VarType::BOOL;
    };
    const OpSchema& schema = *FindOpSchema(op.type());
    for (const Argument* input : op.inputs()) {
      if (input->value() == nullptr) continue;
      const absl::string_view slot = OpPlanner::SlotOf(*input);
      if (schema.FindInput(slot, era_)->optional) return false;
      if (!has_kernels(planner.InputType(slot, input->index()))) return false;
    }
    return std::all_of(op.outputs().begin(), op.outputs().end(), [&](const Argument* output) {
      const absl::string_view slot = OpPlanner::SlotOf(*output);
      if (!planner.Wants(slot, output->index())) return true;
      const auto type = planner.OutputType(slot, output->index());
      return type.ok() && has_kernels(*type);
    });
  }

  // Outputs that the op does not change, such as the state of quantizers in test mode.
  absl::Status KeepWhatIsNotWritten(const Op& op, PlanBuilder* builder) {
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable == nullptr || !builder->Keeps(*variable)) continue;
      if (builder->IsPlanned(*output->value())) continue;
      const Value* before = ValueBefore(*output->value());
      if (before == nullptr && builder->HasPersistable(*variable)) {
        builder->AddEntry(*output->value());
      } else if (before != nullptr && builder->IsPlanned(*before)) {
        RETURN_IF_ERROR(builder->Share(*output->value(), *before));
      }
    }
    return absl::OkStatus();
  }

  // Gradients are computed as FP32.
  static absl::Status CheckGradients(const Op& op, const PlanBuilder& builder) {
    for (const Argument* output : op.outputs()) {
      if (!absl::EndsWith(output->slot_name(), kGradientSuffix)) continue;
      if (output->variable() == nullptr || !builder.IsPlanned(*output->value())) continue;
      if (builder.Attached<HeldArray>(*output->value()) != nullptr) continue;
      const VarType::Type dtype = builder.TypeOf(*output->value()).dtype;
      if (dtype == VarType::FP32) continue;
      return absl::UnimplementedError(
          absl::StrCat("output ", output->slot_name(), " is ", TypeName(dtype), "; want f32"));
    }
    return absl::OkStatus();
  }

  ProgramPlan& shared_;
  const Program& program_;
  const Era era_;
  const PlanRequest& request_;
  const FindPersistable& find_persistable_;
  std::map<std::string, GivenType> feeds_;
};

}  // namespace

absl::Status CheckOps(const Program& program) {
  std::vector<std::string> missing;
  absl::flat_hash_set<std::string> seen;
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      for (const Block* block : op.sub_blocks()) {
        if (block->owner() == &op) continue;
        return absl::UnimplementedError(
            absl::StrCat(Describe(op), ": runs block ", block->index(), ", and so does ",
                         Describe(*block->owner()), "; the executor runs blocks that one op runs"));
      }
      if (IsFeedOrFetch(op) || FindOpPlan(op.type()) != nullptr) continue;
      if (!seen.insert(op.type()).second) continue;
      missing.push_back(absl::StrCat(op.type(), " (block ", b, ", op ", op.Index(), ")"));
    }
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("the executor does not run op types ", absl::StrJoin(missing, ", ")));
}

absl::StatusOr<Plan> MakePlan(ProgramPlan& program, const PlanRequest& request,
                              const FindPersistable& find_persistable) {
  return Planner(program, request, find_persistable).Run();
}

}  // namespace fixpoint::executor
