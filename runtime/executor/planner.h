// Makes the plan of a program: which ops are needed for the results, and the steps of each.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PLANNER_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PLANNER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/observation.h"
#include "runtime/executor/plan.h"

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
};

// The plan of block 0. Errors name block and op: kFailedPrecondition: an input or a fetch has no
// value; kInvalidArgument: shapes or attributes do not fit the op; kUnimplemented: the executor
// does not support it.
absl::StatusOr<Plan> MakePlan(const Program& program, const PlanRequest& request,
                              const FindPersistable& find_persistable);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PLANNER_H_
