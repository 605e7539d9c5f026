#include "runtime/executor/op_plans.h"

#include <glog/logging.h>

#include <map>
#include <utility>

#include "ops/op_schema.h"

namespace fixpoint::executor {
namespace {

using PlanTable = std::map<std::string, OpPlanEntry, std::less<>>;

void AddTo(PlanTable* table, OpPlans plans) {
  for (OpPlanEntry& entry : plans) {
    CHECK(FindOpSchema(entry.type) != nullptr) << entry.type << " has no schema";
    const std::string type = entry.type;
    const bool is_new = table->emplace(type, std::move(entry)).second;
    CHECK(is_new) << type << " has two plans";
  }
}

PlanTable& AllPlans() {
  static PlanTable* const table = [] {
    auto* made = new PlanTable();
    for (OpPlans plans : {
#define FIXPOINT_OP_PLANS(family) family##Plans(),
#include "runtime/executor/all_op_plans.inc"
#undef FIXPOINT_OP_PLANS
         }) {
      AddTo(made, std::move(plans));
    }
    return made;
  }();
  return *table;
}

}  // namespace

void AddOpPlans(OpPlans plans) { AddTo(&AllPlans(), std::move(plans)); }

const OpPlanEntry* FindOpPlan(absl::string_view type) {
  const auto found = AllPlans().find(type);
  return found != AllPlans().end() ? &found->second : nullptr;
}

std::vector<std::string> TypesWithPlan() {
  std::vector<std::string> types;
  for (const auto& [type, plan] : AllPlans()) types.push_back(type);
  return types;
}

}  // namespace fixpoint::executor
