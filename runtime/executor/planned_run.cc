#include "runtime/executor/planned_run.h"

#include <chrono>
#include <cstddef>

#include "proto/base/status_macros.h"

namespace fixpoint::executor {
namespace {

using Clock = std::chrono::steady_clock;

absl::Status RunPlaced(const RunState& state, bool profile, PlacedPlan* placed) {
  const StepContext context(placed->addresses, state);
  ++placed->times.runs;
  for (size_t i = 0; i < placed->plan.steps.size(); ++i) {
    const auto begin = profile ? Clock::now() : Clock::time_point();
    RETURN_IF_ERROR(RunStep(placed->plan, placed->plan.steps[i], context));
    if (profile) {
      placed->times.seconds[i] += std::chrono::duration<double>(Clock::now() - begin).count();
    }
  }
  return absl::OkStatus();
}

}  // namespace

void PlacedPlan::PlaceIn(uint8_t* arena) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferInfo& info = plan.buffers[i];
    if (info.place == BufferInfo::Place::kArena && info.offset >= 0) {
      addresses[i] = arena + info.offset;
    }
  }
}

absl::Status RunAllSteps(const RunState& state, bool profile, PlannedRun* run) {
  if (run->first) {
    auto& [piece, count, parts] = *run->first;
    for (int64_t i = 0; i < count; ++i) {
      for (const Buffer part : parts) {
        piece.addresses[part.index] =
            run->rest.addresses[part.index] + i * piece.plan.buffers[part.index].bytes();
      }
      RETURN_IF_ERROR(RunPlaced(state, profile, &piece));
    }
  }
  return RunPlaced(state, profile, &run->rest);
}

}  // namespace fixpoint::executor
