#include "runtime/executor/planner.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/status_macros.h"
#include "proto/type_names.h"
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
    const Demand demand(program_, fetched, request_.keeps_all);
    uint32_t number = 0;
    for (const Op& op : program_.block(0).ops()) {
      if (HasNothingToDo(op)) continue;
      if (demand.IsLive(op)) {
        if (absl::Status status = PlanOp(op, number, demand); !status.ok()) return AtOp(op, status);
      }
      ++number;
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

  // A value that no op writes is fed, or in the scope.
  absl::Status AddEntry(const Value& value) {
    if (builder_.IsPlanned(value)) return absl::OkStatus();
    // What is between ops that one step does is not held.
    if (builder_.IsWithin(value)) return absl::OkStatus();
    const Variable& variable = value.variable();
    const bool is_entry =
        value.origin() == Value::Origin::kEntry || (value.op() != nullptr && IsFeed(*value.op()));
    if (const auto feed = feeds_.find(variable.name()); is_entry && feed != feeds_.end()) {
      builder_.AddFeed(value, variable.name(), feed->second);
      return absl::OkStatus();
    }
    if (is_entry) {
      const std::optional<TensorType> type = find_persistable_(variable.name());
      if (type) {
        builder_.AddPersistable(variable, *type);
        return absl::OkStatus();
      }
    }
    return absl::FailedPreconditionError(
        absl::StrCat("\"", variable.name(),
                     "\" has no value; want it fed, initialised by the startup program, or "
                     "written by an op before"));
  }

  absl::Status PlanOp(const Op& op, uint32_t number, const Demand& demand) {
    const OpSchema& schema = *FindOpSchema(op.type());
    RETURN_IF_ERROR(CheckForm(op, schema, era_));
    for (const Argument* input : op.inputs()) {
      if (input->variable() == nullptr) continue;
      RETURN_IF_ERROR(AddEntry(*input->value()));
    }
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable == nullptr || !variable->persistable()) continue;
      if (builder_.HasPersistable(*variable)) continue;
      if (const auto type = find_persistable_(variable->name()); type) {
        builder_.AddPersistable(*variable, *type);
      }
    }
    if (builder_.IsAbsorbed(op)) return absl::OkStatus();
    builder_.BeginOp(&op);
    OpPlanner planner(op, schema, era_, number, request_.begun.contains(&op), demand, &builder_);
    RETURN_IF_ERROR((*FindOpPlan(op.type()))(planner));
    RETURN_IF_ERROR(CheckGradients(op));
    return builder_.status();
  }

  // What is computed of a gradient are FP32.
  absl::Status CheckGradients(const Op& op) const {
    for (const Argument* output : op.outputs()) {
      if (!absl::EndsWith(output->slot_name(), kGradientSuffix)) continue;
      if (output->variable() == nullptr || !builder_.IsPlanned(*output->value())) continue;
      const VarType::Type dtype = builder_.TypeOf(*output->value()).dtype;
      if (dtype == VarType::FP32) continue;
      return absl::UnimplementedError(
          absl::StrCat("output ", output->slot_name(), " is ", TypeName(dtype), "; want f32"));
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
