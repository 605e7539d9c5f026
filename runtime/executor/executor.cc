#include "runtime/executor/executor.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/executor/planner.h"
#include "runtime/executor/profile.h"
#include "runtime/kernels/peaks.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::executor {
namespace {

using Clock = std::chrono::steady_clock;

// Of batches of more sizes than that each is planned again when its size comes again.
constexpr size_t kMostPlans = 16;

uint32_t CountOps(const Program& program) {
  int count = 0;
  for (int b = 0; b < program.block_count(); ++b) count += program.block(b).op_count();
  return static_cast<uint32_t>(count);
}

// A scalar is [1] in plans.
Dims PlannedDims(const Tensor& tensor) {
  if (tensor.dims().empty()) return {1};
  return Dims(tensor.dims().begin(), tensor.dims().end());
}

// A tensor is a scalar outside of plans where its variable is declared as one.
std::vector<int64_t> DimsOutside(const Program& program, const std::string& variable,
                                 const Dims& planned) {
  const Variable* declared = program.Find(program.block(0), variable);
  const VarType::TensorDesc* tensor = declared != nullptr ? declared->tensor() : nullptr;
  if (tensor != nullptr && tensor->dims().empty() && planned == Dims{1}) return {};
  return {planned.begin(), planned.end()};
}

TensorType TypeOf(const Tensor& tensor) { return {tensor.dtype(), PlannedDims(tensor)}; }

// A scalar has no rows that its offsets could cut.
const LoD& LodOf(const Tensor& tensor) {
  static const LoD* const none = new LoD();
  return tensor.dims().empty() ? *none : tensor.lod();
}

GivenType GivenTypeOf(const Tensor& tensor) { return {TypeOf(tensor), LodOf(tensor)}; }

// A tensor outside of plans. Error: there is no memory for it.
absl::StatusOr<Tensor> AllocateOutside(const Program& program, const std::string& variable,
                                       const TensorType& type, const LoD& lod) {
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(type.dtype, DimsOutside(program, variable, type.dims)));
  tensor.set_lod(lod);
  return tensor;
}

}  // namespace

// A plan with the addresses of its buffers.
struct Executor::PlannedRun {
  PlanRequest request;
  std::vector<bool> phase;  // of the schedule
  Plan plan;
  std::vector<bool> was_there;  // of each of the plan's persistables, in the scope
  std::vector<uint8_t*> addresses;
  std::vector<std::shared_ptr<const Constant>> constants;
  std::optional<uint64_t> scope_revision;  // of the scope that the addresses are of
  const uint8_t* arena = nullptr;          // likewise
  // Of the plan, those whose tensors in that scope have other offsets than a run leaves.
  std::vector<const Plan::Persistable*> to_cut_anew;
  uint64_t last_use = 0;
  StepTimes times;
};

// What the plan binds in the scope is of the types that it was planned for, and what it reads there
// has the offsets.
bool Executor::FitsScope(const PlannedRun& run) const {
  if (run.scope_revision == scope_->revision()) return true;
  for (size_t i = 0; i < run.plan.persistables.size(); ++i) {
    const Plan::Persistable& planned = run.plan.persistables[i];
    const Tensor* tensor = TensorInScope(planned.name);
    const bool fits = tensor != nullptr
                          ? TypeOf(*tensor) == run.plan.buffers[planned.buffer.index].type &&
                                (!planned.lod_before || *planned.lod_before == LodOf(*tensor))
                          : !run.was_there[i] && scope_->FindOrNull(planned.name) == nullptr;
    if (!fits) return false;
  }
  return true;
}

const Tensor* Executor::TensorInScope(absl::string_view name) const {
  const Scope::Value* value = scope_->FindOrNull(name);
  return value != nullptr ? std::get_if<Tensor>(value) : nullptr;
}

Executor::Executor(const Program& program, Scope* scope, Schedule schedule,
                   const ExecutorOptions& options)
    : program_(program),
      scope_(scope),
      schedule_(std::move(schedule)),
      options_(options),
      op_count_(CountOps(program)),
      block_runs_(program.block_count(), 0) {}

Executor::~Executor() = default;

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(const Program& program, Scope* scope,
                                                           const ExecutorOptions& options) {
  RETURN_IF_ERROR(CheckOps(program));
  ASSIGN_OR_RETURN(Schedule schedule, Schedule::Of(program));
  return std::unique_ptr<Executor>(new Executor(program, scope, std::move(schedule), options));
}

absl::StatusOr<Executor::PlannedRun*> Executor::FindOrPlan(absl::Span<const Feed> feeds,
                                                           absl::Span<const std::string> fetches) {
  // A kernel shares its work out when it is planned, and so its bits depend on it.
  kernels::UseThreads(options_.threads);
  ASSIGN_OR_RETURN(std::vector<bool> phase, schedule_.PhaseOf(feeds, *scope_));
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
  auto run = std::make_unique<PlannedRun>();
  for (const Feed& feed : feeds) {
    run->request.feeds.push_back({std::string(feed.name), GivenTypeOf(*feed.value)});
  }
  run->request.fetches.assign(fetches.begin(), fetches.end());
  run->request.begun = schedule_.BegunIn(phase);
  run->request.keeps_all = options_.check_finite;
  run->request.has_constants = options_.constants != nullptr;
  run->phase = std::move(phase);
  ASSIGN_OR_RETURN(run->plan, MakePlan(program_, run->request, [this](absl::string_view name) {
                     const Tensor* tensor = TensorInScope(name);
                     return tensor != nullptr ? std::optional(GivenTypeOf(*tensor)) : std::nullopt;
                   }));
  RETURN_IF_ERROR(GrowArena(run->plan.arena_bytes));
  for (const Plan::Persistable& persistable : run->plan.persistables) {
    run->was_there.push_back(TensorInScope(persistable.name) != nullptr);
  }
  run->times.seconds.resize(run->plan.steps.size());
  run->last_use = ++uses_;
  if (runs_.size() == kMostPlans) {
    runs_.erase(std::min_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) {
      return a->last_use < b->last_use;
    }));
  }
  runs_.push_back(std::move(run));
  return runs_.back().get();
}

absl::Status Executor::GrowArena(int64_t bytes) {
  if (bytes <= arena_bytes_) return absl::OkStatus();
  // Without memory the plans that there are keep the old one.
  ASSIGN_OR_RETURN(arena_, AllocateMemory(bytes, "intermediate values"));
  arena_bytes_ = bytes;
  return absl::OkStatus();
}

// Finds the memory of what is persistable and in the arena, which both stay where they are from run
// to run.
absl::Status Executor::Bind(PlannedRun* run, NewTensors* created) {
  if (run->scope_revision == scope_->revision() && run->arena == arena_.get()) {
    return absl::OkStatus();
  }
  run->addresses.resize(run->plan.buffers.size());
  for (size_t i = 0; i < run->plan.buffers.size(); ++i) {
    const BufferInfo& info = run->plan.buffers[i];
    if (info.place == BufferInfo::Place::kArena && info.offset >= 0)
      run->addresses[i] = arena_.get() + info.offset;
  }
  run->to_cut_anew.clear();
  for (const Plan::Persistable& persistable : run->plan.persistables) {
    uint8_t*& address = run->addresses[persistable.buffer.index];
    if (Scope::Value* value = scope_->FindOrNull(persistable.name); value != nullptr) {
      Tensor& tensor = std::get<Tensor>(*value);
      address = tensor.mutable_bytes().data();
      const bool keeps_lod = !persistable.lod_after || *persistable.lod_after == tensor.lod();
      if (!keeps_lod) run->to_cut_anew.push_back(&persistable);
      continue;
    }
    const TensorType& type = run->plan.buffers[persistable.buffer.index].type;
    ASSIGN_OR_RETURN(Tensor tensor, AllocateOutside(program_, persistable.name, type,
                                                    persistable.lod_after.value_or(LoD())));
    address = tensor.mutable_bytes().data();
    created->emplace_back(persistable.name, std::move(tensor));
  }
  AddressInTensors(run->plan, absl::MakeSpan(run->addresses));
  if (run->scope_revision != scope_->revision()) RETURN_IF_ERROR(ComputeConstants(run));
  run->scope_revision = created->empty() ? std::optional(scope_->revision()) : std::nullopt;
  run->arena = arena_.get();
  return absl::OkStatus();
}

absl::Status Executor::ComputeConstants(PlannedRun* run) {
  const Plan& plan = run->plan;
  if (plan.constant_steps.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Memory scratch,
                   AllocateMemory(plan.constant_scratch_bytes, "what constants are computed of"));
  std::vector<std::pair<size_t, Memory>> memories;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferInfo& info = plan.buffers[i];
    if (info.place == BufferInfo::Place::kConstantScratch && info.offset >= 0) {
      run->addresses[i] = scratch.get() + info.offset;
    } else if (info.place == BufferInfo::Place::kConstant) {
      ASSIGN_OR_RETURN(Memory memory, AllocateMemory(info.bytes(), "a constant"));
      run->addresses[i] = memory.get();
      memories.emplace_back(i, std::move(memory));
    }
  }
  const RunState state{options_.seed, /*step=*/0, options_.check_finite, op_count_,
                       absl::MakeSpan(block_runs_)};
  const StepContext context(run->addresses, state);
  for (const Step& step : plan.constant_steps) RETURN_IF_ERROR(RunStep(plan, step, context));
  run->constants.clear();
  for (auto& [index, memory] : memories) {
    run->constants.push_back(
        options_.constants->Share(Constant(std::move(memory), plan.buffers[index].bytes())));
    // A step only reads what it does not write.
    run->addresses[index] = const_cast<uint8_t*>(run->constants.back()->bytes().data());
  }
  return absl::OkStatus();
}

absl::Status Executor::Fetch(const PlannedRun& run, std::vector<Tensor>* fetched) const {
  const std::vector<Plan::Fetch>& fetches = run.plan.fetches;
  if (fetched->size() != fetches.size()) fetched->clear();
  for (size_t i = 0; i < fetches.size(); ++i) {
    const Plan::Fetch& fetch = fetches[i];
    const bool is_there = i < fetched->size();
    if (!is_there || (*fetched)[i].lod() != fetch.lod || TypeOf((*fetched)[i]) != fetch.type) {
      ASSIGN_OR_RETURN(Tensor made, AllocateOutside(program_, fetch.name, fetch.type, fetch.lod));
      if (is_there) {
        (*fetched)[i] = std::move(made);
      } else {
        fetched->push_back(std::move(made));
      }
    }
    Tensor& tensor = (*fetched)[i];
    std::copy_n(run.addresses[fetch.buffer.index], tensor.bytes().size(),
                tensor.mutable_bytes().begin());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> Executor::Run(absl::Span<const Feed> feeds,
                                                  absl::Span<const std::string> fetches,
                                                  uint32_t step) {
  std::vector<Tensor> fetched;
  RETURN_IF_ERROR(RunInto(feeds, fetches, step, &fetched));
  return fetched;
}

absl::Status Executor::RunInto(absl::Span<const Feed> feeds, absl::Span<const std::string> fetches,
                               uint32_t step, std::vector<Tensor>* fetched) {
  ASSIGN_OR_RETURN(PlannedRun * run, FindOrPlan(feeds, fetches));
  NewTensors created;
  RETURN_IF_ERROR(Bind(run, &created));
  for (const Plan::Binding& binding : run->plan.feeds) {
    const auto feed = std::find_if(feeds.begin(), feeds.end(),
                                   [&](const Feed& feed) { return feed.name == binding.name; });
    // A step only reads what is fed.
    run->addresses[binding.buffer.index] = const_cast<uint8_t*>(feed->value->bytes().data());
  }
  std::fill(block_runs_.begin(), block_runs_.end(), 0);
  const RunState state{options_.seed, step, options_.check_finite, op_count_,
                       absl::MakeSpan(block_runs_)};
  const StepContext context(run->addresses, state);
  ++run->times.runs;
  for (size_t i = 0; i < run->plan.steps.size(); ++i) {
    const Step& planned = run->plan.steps[i];
    const auto begin = options_.profile ? Clock::now() : Clock::time_point();
    RETURN_IF_ERROR(RunStep(run->plan, planned, context));
    if (options_.profile) {
      run->times.seconds[i] += std::chrono::duration<double>(Clock::now() - begin).count();
    }
  }
  const absl::Status status = Fetch(*run, fetched);
  for (auto& [name, tensor] : created) scope_->Set(name, std::move(tensor));
  // Set anew, so that the plans for the offsets before are not taken for fitting.
  for (const Plan::Persistable* persistable : run->to_cut_anew) {
    Tensor tensor = std::move(std::get<Tensor>(*scope_->FindOrNull(persistable->name)));
    tensor.set_lod(*persistable->lod_after);
    scope_->Set(persistable->name, std::move(tensor));
  }
  return status;
}

std::string Executor::PlanText() const {
  std::string text;
  for (const std::unique_ptr<PlannedRun>& run : runs_) text += executor::PlanText(run->plan);
  return text;
}

std::string Executor::ProfileText() const {
  if (!options_.profile) return "";
  const kernels::Peaks peaks = kernels::MeasurePeaks();
  std::string text;
  for (const std::unique_ptr<PlannedRun>& run : runs_) {
    if (run->times.runs > 0) text += executor::ProfileText(run->plan, run->times, peaks);
  }
  return text;
}

absl::StatusOr<const Plan*> Executor::PlanOf(absl::Span<const Feed> feeds,
                                             absl::Span<const std::string> fetches) {
  ASSIGN_OR_RETURN(const PlannedRun* run, FindOrPlan(feeds, fetches));
  return &run->plan;
}

}  // namespace fixpoint::executor
