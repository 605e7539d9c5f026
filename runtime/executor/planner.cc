#include "runtime/executor/planner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/status_macros.h"
#include "runtime/executor/demand.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/plan_builder.h"

namespace fixpoint::executor {
namespace {

absl::Status AtOp(const Op& op, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(Describe(op), ": ", status.message()));
}

bool IsFeed(const Op& op) { return op.type() == "feed"; }
bool HasNothingToDo(const Op& op) { return IsFeed(op) || op.type() == "fetch"; }

class Planner {
 public:
  Planner(const Program& program, const PlanRequest& request,
          const FindPersistable& find_persistable)
      : program_(program),
        era_(EraOf(program)),
        request_(request),
        find_persistable_(find_persistable) {}

  absl::StatusOr<Plan> Run() {
    for (const FeedType& feed : request_.feeds) feeds_.emplace(feed.name, feed.type);
    std::vector<const Value*> fetched;
    for (const std::string& name : request_.fetches) {
      ASSIGN_OR_RETURN(const Value* value, FetchedValue(name));
      fetched.push_back(value);
    }
    const Demand demand(program_, fetched, request_.leave_out_unwanted);
    Planning planning{era_, {}, request_.begun, demand, builder_};
    std::vector<const Op*> live;
    for (const Op& op : program_.block(0).ops()) {
      if (HasNothingToDo(op)) continue;
      planning.numbers.emplace(&op, static_cast<uint32_t>(planning.numbers.size()));
      if (demand.IsLive(op)) live.push_back(&op);
    }
    // Before all, because an op may do the work of later ones.
    for (const Op* op : live) {
      if (absl::Status status = AddEntries(*op); !status.ok()) return AtOp(*op, status);
    }
    for (const Op* op : live) {
      if (absl::Status status = PlanOp(*op, planning); !status.ok()) return AtOp(*op, status);
    }
    for (const Value* value : fetched) RETURN_IF_ERROR(AddEntry(*value));
    return builder_.Finish(fetched);
  }

 private:
  // Also one that no block declares.
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

  // Adds what an op reads and no op writes: what is fed, or in the scope.
  absl::Status AddEntries(const Op& op) {
    for (const Argument* input : op.inputs()) {
      if (input->variable() == nullptr || !IsEntry(*input->value())) continue;
      RETURN_IF_ERROR(AddEntry(*input->value()));
    }
    return absl::OkStatus();
  }

  static bool IsEntry(const Value& value) {
    return value.origin() == Value::Origin::kEntry ||
           (value.op() != nullptr && IsFeed(*value.op()));
  }

  // REQUIRES, of a value that an op writes: that one was planned.
  absl::Status AddEntry(const Value& value) {
    if (builder_.IsPlanned(value)) return absl::OkStatus();
    const Variable& variable = value.variable();
    if (IsEntry(value)) {
      if (const auto feed = feeds_.find(variable.name()); feed != feeds_.end()) {
        builder_.AddFeed(value, variable.name(), feed->second);
        return absl::OkStatus();
      }
      AddPersistable(variable);
      if (builder_.HasPersistable(variable)) {
        builder_.AddEntry(value);
        return absl::OkStatus();
      }
    }
    return absl::FailedPreconditionError(
        absl::StrCat("\"", variable.name(),
                     "\" has no value; want it fed, initialised by the startup program, or "
                     "written by an op before"));
  }

  // Adds the variable's tensor, if the scope has one.
  void AddPersistable(const Variable& variable) {
    if (builder_.HasPersistable(variable)) return;
    if (const auto type = find_persistable_(variable.name()); type) {
      builder_.AddPersistable(variable, *type);
    }
  }

  absl::Status PlanOp(const Op& op, const Planning& planning) {
    RETURN_IF_ERROR(CheckForm(op, *FindOpSchema(op.type()), era_));
    if (builder_.IsAbsorbed(op)) return absl::OkStatus();
    for (const Argument* input : op.inputs()) {
      if (input->variable() != nullptr) RETURN_IF_ERROR(AddEntry(*input->value()));
    }
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable != nullptr && variable->persistable()) AddPersistable(*variable);
    }
    builder_.BeginOp(&op);
    OpPlanner planner(op, planning);
    RETURN_IF_ERROR((*FindOpPlan(op.type()))(planner));
    return KeepWhatIsNotWritten(op);
  }

  // Outputs that the op leaves as they were, as quantizers their state in test mode.
  absl::Status KeepWhatIsNotWritten(const Op& op) {
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable == nullptr || !builder_.HasPersistable(*variable)) continue;
      if (builder_.IsPlanned(*output->value())) continue;
      const absl::Span<const Value* const> values = variable->values();
      const auto place = std::find(values.begin(), values.end(), output->value());
      if (place == values.begin()) continue;
      const Value& before = **(place - 1);
      if (IsEntry(before)) RETURN_IF_ERROR(AddEntry(before));
      if (!builder_.IsPlanned(before)) continue;
      RETURN_IF_ERROR(builder_.Share(*output->value(), before));
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const Era era_;
  const PlanRequest& request_;
  const FindPersistable& find_persistable_;
  std::map<std::string, TensorType> feeds_;
  PlanBuilder builder_;
};

}  // namespace

absl::Status CheckOps(const Program& program) {
  std::vector<std::string> missing;
  absl::flat_hash_set<std::string> seen;
  for (const Op& op : program.block(0).ops()) {
    if (HasNothingToDo(op) || FindOpPlan(op.type()) != nullptr) continue;
    if (!seen.insert(op.type()).second) continue;
    missing.push_back(absl::StrCat(op.type(), " (op ", op.Index(), ")"));
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("the executor does not run op types ", absl::StrJoin(missing, ", ")));
}

absl::StatusOr<Plan> MakePlan(const Program& program, const PlanRequest& request,
                              const FindPersistable& find_persistable) {
  return Planner(program, request, find_persistable).Run();
}

}  // namespace fixpoint::executor
