// How ops are planned: for each op type the function that adds its steps, by family (ops/*.cc);
// all_op_plans.inc lists the families.
//
// A plan function checks the shapes that its kernels rely on, makes the kernels (runtime/kernels),
// and declares which forms of its inputs they take. What CheckForm (ops/op_form.h) checks about
// slots and attributes holds when it is called.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OP_PLANS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OP_PLANS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/op_form.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Error: which inputs or attributes are wrong or not supported, without naming the op.
using PlanFunction = std::function<absl::Status(OpPlanner& op)>;

// Whether an op with these attributes gives the bits that the interpreter gives: each element of
// the results is one of the inputs, or is computed from them with one rounding. Null: no.
using RoundsOnce = std::function<bool(const OpAttributes& attributes)>;
inline bool AlwaysRoundsOnce(const OpAttributes&) { return true; }

struct OpPlanEntry {
  std::string type;
  PlanFunction plan;
  RoundsOnce rounds_once = nullptr;
};
using OpPlans = std::vector<OpPlanEntry>;

// Adds plans of ops of a user's own (AddOpSchemas, ops/op_schema.h) to those of the families.
// REQUIRES: their types have schemas and no plans, and no program has been planned yet.
void AddOpPlans(OpPlans plans);

// Null for an op type that the executor does not run.
const OpPlanEntry* FindOpPlan(absl::string_view type);

// Every type that it runs, in ascending order.
std::vector<std::string> TypesWithPlan();

// The families. A row of all_op_plans.inc without its function does not link.
#define FIXPOINT_OP_PLANS(family) OpPlans family##Plans();
#include "runtime/executor/all_op_plans.inc"
#undef FIXPOINT_OP_PLANS

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OP_PLANS_H_
