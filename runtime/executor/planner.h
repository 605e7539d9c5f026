// Makes the plan of a program: which ops are needed for the results, and the steps of each.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PLANNER_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PLANNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/gradient_matcher.h"
#include "ops/never_negative.h"
#include "proto/program/program_fwd.h"
#include "runtime/backward_precision.h"
#include "runtime/executor/demand.h"
#include "runtime/executor/observation.h"
#include "runtime/executor/op_forms.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/unset_values.h"

namespace fixpoint::executor {

struct FeedType {
  std::string name;
  GivenType given;
};

// What the scope holds for a variable, or nothing.
using FindPersistable = std::function<std::optional<GivenType>(absl::string_view name)>;

// Whether every op can be planned at all. Error (kUnimplemented): op types that the executor does
// not run, each with the place of its first op; a block that two ops run.
absl::Status CheckOps(const Program& program);

struct PlanRequest {
  std::vector<FeedType> feeds;
  std::vector<std::string> fetches;
  absl::flat_hash_set<const Op*> begun;  // schedule.h
  // Whether every value that is read is held, even between ops that one step could do.
  bool keeps_all = false;
  // Not null: what the run shows (observation.h).
  const Observation* observation = nullptr;
  // Whether parameters that the program does not write never change, so that what is computed from
  // them alone is computed once.
  bool has_constants = false;
  BackwardPrecision backward = BackwardPrecision::kFloat;
  double recomputing = 0;  // ExecutorOptions::recomputing
};

// An op that runs.
struct LiveOp {
  const Op* op;
  const OpPlanEntry* entry;
  bool is_computed_once;
  absl::Status form;  // OpForms::Check
  ReadValues read;
  std::vector<const Value*> written;
  std::vector<const Value*> found_in_outputs;
};

struct LiveOps {
  Demand demand;
  GradientMatcher gradients;
  std::vector<LiveOp> ops;
};

// What the plans of a program for one purpose share, whatever the shapes of a run: which ops run,
// what they read and write, and whether they have the form of their types.
class ProgramPlan {
 public:
  // For requests that differ from this one in the feeds' types alone. REQUIRES: the program, which
  // does not change, and the observation outlive the object.
  ProgramPlan(const Program& program, const PlanRequest& request);
  ~ProgramPlan();
  ProgramPlan(const ProgramPlan&) = delete;
  ProgramPlan& operator=(const ProgramPlan&) = delete;

  bool IsFor(const PlanRequest& request) const;

  const Program& program() const { return program_; }
  Era era() const { return era_; }
  const absl::flat_hash_set<const Op*>& begun() const { return begun_; }
  // The place of each op among all ops of the program except feeds and fetches.
  const absl::flat_hash_map<const Op*, uint32_t>& numbers() const { return numbers_; }
  OpForms& forms() { return forms_; }
  NeverNegative& never_negative() { return never_negative_; }
  // The number by which a value is observed; nothing: it is not.
  std::optional<int> ObservedNumber(const Value& value) const;
  // The ops of a block that run where these values are wanted, found when they are first asked for.
  const LiveOps& Of(const Block& block, const std::vector<const Value*>& wanted);

 private:
  using Purpose = std::pair<const Block*, std::vector<const Value*>>;

  const Program& program_;
  const Era era_;
  const std::vector<std::string> fetches_;
  const absl::flat_hash_set<const Op*> begun_;
  const bool keeps_all_;
  const Observation* const observation_;
  absl::flat_hash_map<const Op*, uint32_t> numbers_;
  OpForms forms_;
  NeverNegative never_negative_;
  absl::flat_hash_map<Purpose, std::unique_ptr<const LiveOps>> live_ops_;
};

// The plan of block 0. Errors name block and op: kFailedPrecondition: an input or a fetch has no
// value; kInvalidArgument: shapes or attributes do not fit the op; kUnimplemented: the executor
// does not support it. REQUIRES: `program` is for such requests.
absl::StatusOr<Plan> MakePlan(ProgramPlan& program, const PlanRequest& request,
                              const FindPersistable& find_persistable);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PLANNER_H_
