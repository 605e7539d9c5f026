// A plan, or two if a batch passes in pieces (pieces.h), with the memory that their steps work in.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_PLANNED_RUN_H_
#define FIXPOINT_RUNTIME_EXECUTOR_PLANNED_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/executor/constants.h"
#include "runtime/executor/pieces.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/planner.h"
#include "runtime/executor/profile.h"

namespace fixpoint::executor {

// A plan with the addresses of its buffers.
struct PlacedPlan {
  Plan plan;
  std::vector<uint8_t*> addresses = std::vector<uint8_t*>(plan.buffers.size());
  std::vector<std::shared_ptr<const Constant>> constants = {};
  StepTimes times = {0, std::vector<double>(plan.steps.size())};

  // Addresses of what lies in the arena, from `arena` on.
  void PlaceIn(uint8_t* arena);
};

// Everything that a run with tensors of known types needs.
struct PlannedRun {
  // Steps that run for each piece of the batch, before the rest.
  struct First {
    explicit First(Pieces pieces)
        : placed{std::move(pieces.plan)}, count(pieces.count), parts(std::move(pieces.parts)) {}
    PlacedPlan placed;
    int64_t count;
    std::vector<Buffer> parts;
  };

  PlanRequest request;
  PlacedPlan rest;
  std::optional<First> first = std::nullopt;
  std::vector<bool> phase = {};      // the phase of the schedule
  std::vector<bool> was_there = {};  // for each of the rest's persistables, in the scope
  // The version of the scope that the addresses belong to.
  std::optional<uint64_t> scope_revision = std::nullopt;
  const uint8_t* arena = nullptr;  // likewise
  // The rest's persistables whose tensors in that scope have offsets other than a run leaves.
  std::vector<const Plan::Persistable*> to_cut_anew = {};
  uint64_t last_use = 0;

  int64_t arena_bytes() const {
    return rest.plan.arena_bytes + (first ? first->placed.plan.arena_bytes : 0);
  }
};

// Runs all steps. REQUIRES: every buffer has its address. If `profile`, adds their times.
absl::Status RunAllSteps(const RunState& state, bool profile, PlannedRun* run);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_PLANNED_RUN_H_
