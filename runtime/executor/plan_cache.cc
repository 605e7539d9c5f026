#include "runtime/executor/plan_cache.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/outer_tensors.h"
#include "runtime/executor/pieces.h"
#include "runtime/kernels/many_shapes.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

// The most plans that are kept: where batches have more sizes than this, a size is planned again
// when it returns.
constexpr size_t kMostPlans = 16;

// An executor that has planned for more shapes than this is given many.
constexpr int64_t kFewShapes = 2;

// The error that there is no memory for the arena, with what takes most of it.
absl::Status AtLargestValue(const Plan& plan, const absl::Status& status) {
  const Step* largest_step = nullptr;
  const BufferInfo* largest = nullptr;
  for (const Step& step : plan.steps) {
    for (const Buffer written : step.writes) {
      const BufferInfo& info = plan.buffers[written.index];
      if (info.place != BufferInfo::Place::kArena || step.op == nullptr) continue;
      if (largest != nullptr && info.bytes() <= largest->bytes()) continue;
      largest_step = &step;
      largest = &info;
    }
  }
  if (largest == nullptr) return status;
  return AtStep(
      *largest_step,
      absl::Status(status.code(), absl::StrCat(status.message(), "; \"", largest->name, "\" ",
                                               DimsText(largest->type.dims), " takes the most")));
}

// Error (kInvalidArgument): a step writes a variable of the scope.
absl::Status CheckKeepsScope(const Plan& plan) {
  for (const Step& step : plan.steps) {
    for (const Buffer written : step.writes) {
      const BufferInfo& info = plan.buffers[written.index];
      if (info.place != BufferInfo::Place::kScope) continue;
      return AtStep(step, absl::InvalidArgumentError(absl::StrCat(
                              "writes the parameter \"", info.name,
                              "\", which other runs read; want a program of inference")));
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Whether what the plan binds in the scope has the types that it was planned for, and what it reads
// there has the offsets.
bool PlanCache::FitsScope(const PlannedRun& run) const {
  if (run.scope_revision == scope_.revision()) return true;
  const Plan& plan = run.rest.plan;
  for (size_t i = 0; i < plan.persistables.size(); ++i) {
    const Plan::Persistable& planned = plan.persistables[i];
    const Tensor* tensor = FindTensor(scope_, planned.name);
    const bool fits = tensor != nullptr
                          ? TypeOf(*tensor) == plan.buffers[planned.buffer.index].type &&
                                (!planned.lod_before || *planned.lod_before == LodOf(*tensor))
                          : !run.was_there[i] && scope_.FindOrNull(planned.name) == nullptr;
    if (!fits) return false;
  }
  return true;
}

PlanCache::PlanCache(const Program& program, const Scope& scope, Schedule schedule,
                     const ExecutorOptions& options)
    : program_(program), scope_(scope), schedule_(std::move(schedule)), options_(options) {}

absl::StatusOr<PlannedRun*> PlanCache::FindOrPlan(absl::Span<const Feed> feeds,
                                                  absl::Span<const std::string> fetches) {
  ASSIGN_OR_RETURN(std::vector<bool> phase, schedule_.PhaseOf(feeds, scope_));
  const auto is_planned = [](const Feed& feed, const FeedType& planned) {
    return feed.name == planned.name && TypeOf(*feed.value) == planned.given.type &&
           LodOf(*feed.value) == planned.given.lod;
  };
  const auto is_for = [&](const PlannedRun& run) {
    const std::vector<FeedType>& planned_feeds = run.request.feeds;
    const std::vector<std::string>& planned_fetches = run.request.fetches;
    return phase == run.phase &&
           std::equal(feeds.begin(), feeds.end(), planned_feeds.begin(), planned_feeds.end(),
                      is_planned) &&
           std::equal(fetches.begin(), fetches.end(), planned_fetches.begin(),
                      planned_fetches.end()) &&
           FitsScope(run);
  };
  for (const std::unique_ptr<PlannedRun>& run : runs_) {
    if (!is_for(*run)) continue;
    run->last_use = ++uses_;
    return run.get();
  }
  PlanRequest request;
  for (const Feed& feed : feeds) {
    request.feeds.push_back({std::string(feed.name), GivenTypeOf(*feed.value)});
  }
  request.fetches.assign(fetches.begin(), fetches.end());
  request.begun = schedule_.BegunIn(phase);
  request.keeps_all = options_.check_finite;
  request.observation = options_.observation;
  request.has_constants = options_.constants != nullptr;
  request.backward = options_.backward;
  request.recomputing = options_.recomputing;
  // First, because the new plan takes what kernels of the old one leave.
  if (runs_.size() == kMostPlans) {
    runs_.erase(std::min_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) {
      return a->last_use < b->last_use;
    }));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<PlannedRun> run, MakeRun(std::move(request)));
  run->phase = std::move(phase);
  run->last_use = ++uses_;
  runs_.push_back(std::move(run));
  return runs_.back().get();
}

absl::StatusOr<std::unique_ptr<PlannedRun>> PlanCache::MakeRun(PlanRequest request) {
  const auto find_persistable = [this](absl::string_view name) {
    const Tensor* tensor = FindTensor(scope_, name);
    return tensor != nullptr ? std::optional(GivenTypeOf(*tensor)) : std::nullopt;
  };
  const kernels::ManyShapes many_shapes(options_.constants != nullptr && made_ >= kFewShapes);
  ASSIGN_OR_RETURN(BatchPlan planned,
                   PlanBatch(ProgramPlanFor(request), request, find_persistable));
  ++made_;
  auto run =
      std::make_unique<PlannedRun>(PlannedRun{std::move(request), {std::move(planned.rest)}});
  if (planned.pieces) run->first.emplace(std::move(*planned.pieces));
  if (options_.scope_is_shared) RETURN_IF_ERROR(CheckKeepsScope(run->rest.plan));
  if (absl::Status status = GrowArena(run->arena_bytes()); !status.ok()) {
    return AtLargestValue(run->rest.plan, status);
  }
  for (const Plan::Persistable& persistable : run->rest.plan.persistables) {
    run->was_there.push_back(FindTensor(scope_, persistable.name) != nullptr);
  }
  return run;
}

ProgramPlan& PlanCache::ProgramPlanFor(const PlanRequest& request) {
  const auto found = std::find_if(program_plans_.begin(), program_plans_.end(),
                                  [&request](const auto& plan) { return plan->IsFor(request); });
  if (found != program_plans_.end()) return **found;
  if (program_plans_.size() == kMostPlans) program_plans_.erase(program_plans_.begin());
  program_plans_.push_back(std::make_unique<ProgramPlan>(program_, request));
  return *program_plans_.back();
}

absl::Status PlanCache::GrowArena(int64_t bytes) {
  if (bytes <= arena_bytes_) return absl::OkStatus();
  // If there is no memory, the existing plans keep the old one.
  ASSIGN_OR_RETURN(arena_, AllocateMemory(bytes, "intermediate values"));
  arena_bytes_ = bytes;
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
