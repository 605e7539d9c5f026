// The plans that an executor has made, and the arena in which all of them run.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PLAN_CACHE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PLAN_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/executor/planned_run.h"
#include "runtime/executor/planner.h"
#include "runtime/executor/schedule.h"
#include "runtime/memory.h"
#include "runtime/scope.h"

namespace fixpoint::executor {

struct ExecutorOptions;

class PlanCache {
 public:
  // REQUIRES: all that is referred to outlives the object.
  PlanCache(const Program& program, const Scope& scope, Schedule schedule,
            const ExecutorOptions& options);

  // The plan of a run of these feeds on what the scope holds: one that was made before, if its
  // types, offsets and phase of the schedule are the same. It stays valid until the next call.
  // Errors: those of Executor::Run about plans. REQUIRES: the threads of the run are in use
  // (runtime/kernels/threads.h), because a kernel splits its work when it is planned.
  absl::StatusOr<PlannedRun*> FindOrPlan(absl::Span<const Feed> feeds,
                                         absl::Span<const std::string> fetches);

  const std::vector<std::unique_ptr<PlannedRun>>& runs() const { return runs_; }
  // What they share: one for the fetches and the phase of any feeds.
  const std::vector<std::unique_ptr<ProgramPlan>>& program_plans() const { return program_plans_; }
  // As large as the largest of the plans wants it.
  uint8_t* arena() const { return arena_.get(); }

 private:
  absl::StatusOr<std::unique_ptr<PlannedRun>> MakeRun(PlanRequest request);
  ProgramPlan& ProgramPlanFor(const PlanRequest& request);
  bool FitsScope(const PlannedRun& run) const;
  absl::Status GrowArena(int64_t bytes);

  const Program& program_;
  const Scope& scope_;
  const Schedule schedule_;
  const ExecutorOptions& options_;
  std::vector<std::unique_ptr<ProgramPlan>> program_plans_;
  std::vector<std::unique_ptr<PlannedRun>> runs_;
  uint64_t uses_ = 0;
  int64_t made_ = 0;  // plans, those that are no longer kept too
  Memory arena_;
  int64_t arena_bytes_ = 0;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PLAN_CACHE_H_
