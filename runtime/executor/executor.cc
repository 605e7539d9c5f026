#include "runtime/executor/executor.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/bool_bytes.h"
#include "runtime/executor/cost.h"
#include "runtime/executor/pieces.h"
#include "runtime/executor/planner.h"
#include "runtime/executor/profile.h"
#include "runtime/finite_values.h"
#include "runtime/guarded_call.h"
#include "runtime/kernels/peaks.h"
#include "runtime/kernels/threads.h"
#include "runtime/loop_bound.h"
#include "runtime/thread_count.h"

namespace fixpoint::executor {
namespace {

using Clock = std::chrono::steady_clock;

// The most plans that are kept: where batches have more sizes than this, a size is planned again
// when it returns.
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

// Outside plans a tensor is a scalar if its variable is declared as one.
std::vector<int64_t> DimsOutside(const Program& program, const std::string& variable,
                                 const Dims& planned) {
  const Variable* declared = program.Find(program.block(0), variable);
  const VarType::TensorDesc* tensor = declared != nullptr ? declared->tensor() : nullptr;
  if (tensor != nullptr && tensor->dims().empty() && planned == Dims{1}) return {};
  return {planned.begin(), planned.end()};
}

TensorType TypeOf(const Tensor& tensor) { return {tensor.dtype(), PlannedDims(tensor)}; }

// A scalar has no rows that offsets could cut.
const LoD& LodOf(const Tensor& tensor) {
  static const LoD* const none = new LoD();
  return tensor.dims().empty() ? *none : tensor.lod();
}

GivenType GivenTypeOf(const Tensor& tensor) { return {TypeOf(tensor), LodOf(tensor)}; }

// A tensor outside plans. Error: there is no memory for it.
absl::StatusOr<Tensor> AllocateOutside(const Program& program, const std::string& variable,
                                       const TensorType& type, const LoD& lod) {
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(type.dtype, DimsOutside(program, variable, type.dims)));
  tensor.set_lod(lod);
  return tensor;
}

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
  return absl::Status(status.code(), absl::StrCat(Describe(*largest_step->op), ": ",
                                                  status.message(), "; \"", largest->name, "\" ",
                                                  DimsText(largest->type.dims), " takes the most"));
}

// Error (kInvalidArgument): a step writes a variable of the scope.
absl::Status CheckKeepsScope(const Plan& plan) {
  for (const Step& step : plan.steps) {
    for (const Buffer written : step.writes) {
      const BufferInfo& info = plan.buffers[written.index];
      if (info.place != BufferInfo::Place::kScope) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          step.op != nullptr ? Describe(*step.op) : step.name, ": writes the parameter \"",
          info.name, "\", which other runs read; want a program of inference"));
    }
  }
  return absl::OkStatus();
}

// The inputs of a run. Errors: a byte is no BOOL; NotFiniteError, if that is checked.
absl::Status CheckGiven(absl::string_view name, const Tensor& tensor, bool check_finite) {
  absl::Status status = CheckBoolBytes(tensor);
  if (status.ok() && check_finite) status = CheckFinite(tensor);
  return status.ok() ? status : AtPlace(absl::StrCat("variable \"", name, "\""), status);
}

}  // namespace

// A plan with the addresses of its buffers.
struct Executor::PlacedPlan {
  Plan plan;
  std::vector<uint8_t*> addresses = std::vector<uint8_t*>(plan.buffers.size());
  std::vector<std::shared_ptr<const Constant>> constants = {};
  StepTimes times = {0, std::vector<double>(plan.steps.size())};

  // Addresses of what lies in the arena, from `arena` on.
  void PlaceIn(uint8_t* arena) {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const BufferInfo& info = plan.buffers[i];
      if (info.place == BufferInfo::Place::kArena && info.offset >= 0) {
        addresses[i] = arena + info.offset;
      }
    }
  }
};

// Everything that a run with tensors of known types needs.
struct Executor::PlannedRun {
  // Steps that run for each piece of the batch, before the rest (pieces.h).
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

// Whether what the plan binds in the scope has the types that it was planned for, and what it reads
// there has the offsets.
bool Executor::FitsScope(const PlannedRun& run) const {
  if (run.scope_revision == scope_->revision()) return true;
  const Plan& plan = run.rest.plan;
  for (size_t i = 0; i < plan.persistables.size(); ++i) {
    const Plan::Persistable& planned = plan.persistables[i];
    const Tensor* tensor = TensorInScope(planned.name);
    const bool fits = tensor != nullptr
                          ? TypeOf(*tensor) == plan.buffers[planned.buffer.index].type &&
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
  using Made = absl::StatusOr<std::unique_ptr<Executor>>;
  return GuardedCall("the executor", [&]() -> Made {
    RETURN_IF_ERROR(CheckThreadCount(options.threads));
    RETURN_IF_ERROR(CheckOps(program));
    ASSIGN_OR_RETURN(Schedule schedule, Schedule::Of(program));
    return std::unique_ptr<Executor>(new Executor(program, scope, std::move(schedule), options));
  });
}

absl::StatusOr<Executor::PlannedRun*> Executor::FindOrPlan(absl::Span<const Feed> feeds,
                                                           absl::Span<const std::string> fetches) {
  // A kernel splits its work when it is planned, and so its bits depend on the threads.
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
  PlanRequest request;
  for (const Feed& feed : feeds) {
    request.feeds.push_back({std::string(feed.name), GivenTypeOf(*feed.value)});
  }
  request.fetches.assign(fetches.begin(), fetches.end());
  request.begun = schedule_.BegunIn(phase);
  request.keeps_all = options_.check_finite;
  request.has_constants = options_.constants != nullptr;
  ASSIGN_OR_RETURN(std::unique_ptr<PlannedRun> run, MakeRun(std::move(request)));
  run->phase = std::move(phase);
  run->last_use = ++uses_;
  if (runs_.size() == kMostPlans) {
    runs_.erase(std::min_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) {
      return a->last_use < b->last_use;
    }));
  }
  runs_.push_back(std::move(run));
  return runs_.back().get();
}

absl::StatusOr<std::unique_ptr<Executor::PlannedRun>> Executor::MakeRun(PlanRequest request) {
  const auto find_persistable = [this](absl::string_view name) {
    const Tensor* tensor = TensorInScope(name);
    return tensor != nullptr ? std::optional(GivenTypeOf(*tensor)) : std::nullopt;
  };
  ASSIGN_OR_RETURN(BatchPlan planned, PlanBatch(program_, request, find_persistable));
  auto run =
      std::make_unique<PlannedRun>(PlannedRun{std::move(request), {std::move(planned.rest)}});
  if (planned.pieces) run->first.emplace(std::move(*planned.pieces));
  if (options_.scope_is_shared) RETURN_IF_ERROR(CheckKeepsScope(run->rest.plan));
  if (absl::Status status = GrowArena(run->arena_bytes()); !status.ok()) {
    return AtLargestValue(run->rest.plan, status);
  }
  for (const Plan::Persistable& persistable : run->rest.plan.persistables) {
    run->was_there.push_back(TensorInScope(persistable.name) != nullptr);
  }
  return run;
}

absl::Status Executor::GrowArena(int64_t bytes) {
  if (bytes <= arena_bytes_) return absl::OkStatus();
  // If there is no memory, the existing plans keep the old one.
  ASSIGN_OR_RETURN(arena_, AllocateMemory(bytes, "intermediate values"));
  arena_bytes_ = bytes;
  return absl::OkStatus();
}

// Finds the memory of persistable values and of the arena, which both stay where they are from run
// to run.
absl::Status Executor::Bind(PlannedRun* run, NewTensors* created) {
  if (run->scope_revision == scope_->revision() && run->arena == arena_.get()) {
    return absl::OkStatus();
  }
  PlacedPlan& rest = run->rest;
  rest.PlaceIn(arena_.get());
  run->to_cut_anew.clear();
  for (const Plan::Persistable& persistable : rest.plan.persistables) {
    uint8_t*& address = rest.addresses[persistable.buffer.index];
    if (Scope::Value* value = scope_->FindOrNull(persistable.name); value != nullptr) {
      Tensor& tensor = std::get<Tensor>(*value);
      if (persistable.lod_before) {
        RETURN_IF_ERROR(CheckGiven(persistable.name, tensor, options_.check_finite));
      }
      address = tensor.mutable_bytes().data();
      const bool keeps_lod = !persistable.lod_after || *persistable.lod_after == tensor.lod();
      if (!keeps_lod) run->to_cut_anew.push_back(&persistable);
      continue;
    }
    const TensorType& type = rest.plan.buffers[persistable.buffer.index].type;
    ASSIGN_OR_RETURN(Tensor tensor, AllocateOutside(program_, persistable.name, type,
                                                    persistable.lod_after.value_or(LoD())));
    address = tensor.mutable_bytes().data();
    created->emplace_back(persistable.name, std::move(tensor));
  }
  AddressInTensors(rest.plan, absl::MakeSpan(rest.addresses));
  const bool is_scope_new = run->scope_revision != scope_->revision();
  if (is_scope_new) RETURN_IF_ERROR(ComputeConstants(&rest));
  if (run->first) {
    PlacedPlan& piece = run->first->placed;
    piece.PlaceIn(arena_.get() + rest.plan.arena_bytes);
    // Its steps only read them.
    for (const Plan::Persistable& persistable : piece.plan.persistables) {
      Scope::Value* const value = scope_->FindOrNull(persistable.name);
      if (value == nullptr) continue;
      piece.addresses[persistable.buffer.index] = std::get<Tensor>(*value).mutable_bytes().data();
    }
    if (is_scope_new) RETURN_IF_ERROR(ComputeConstants(&piece));
  }
  run->scope_revision = created->empty() ? std::optional(scope_->revision()) : std::nullopt;
  run->arena = arena_.get();
  return absl::OkStatus();
}

absl::Status Executor::ComputeConstants(PlacedPlan* placed) {
  const Plan& plan = placed->plan;
  if (plan.constant_steps.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Memory scratch,
                   AllocateMemory(plan.constant_scratch_bytes, "what constants are computed from"));
  std::vector<size_t> constants;
  int64_t bytes = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].place != BufferInfo::Place::kConstant) continue;
    constants.push_back(i);
    bytes += Aligned(plan.buffers[i].bytes());
  }
  // Adjacent, because a run reads them one after the other.
  ASSIGN_OR_RETURN(Memory memory, AllocateMemory(bytes, "constants"));
  std::vector<absl::Span<const uint8_t>> computed;
  uint8_t* next = memory.get();
  for (const size_t i : constants) {
    placed->addresses[i] = next;
    computed.emplace_back(next, static_cast<size_t>(plan.buffers[i].bytes()));
    next += Aligned(plan.buffers[i].bytes());
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferInfo& info = plan.buffers[i];
    if (info.place == BufferInfo::Place::kConstantScratch && info.offset >= 0) {
      placed->addresses[i] = scratch.get() + info.offset;
    }
  }
  LoopBound loops(options_.max_iterations);
  const RunState state{
      options_.seed, /*step=*/0, options_.check_finite, op_count_, absl::MakeSpan(block_runs_),
      &loops};
  const StepContext context(placed->addresses, state);
  for (const Step& step : plan.constant_steps) RETURN_IF_ERROR(RunStep(plan, step, context));
  ASSIGN_OR_RETURN(placed->constants, options_.constants->Share(std::move(memory), computed));
  for (size_t i = 0; i < constants.size(); ++i) {
    // A step only reads what it does not write.
    placed->addresses[constants[i]] = const_cast<uint8_t*>(placed->constants[i]->bytes().data());
  }
  return absl::OkStatus();
}

absl::Status Executor::Fetch(const PlannedRun& run, std::vector<Tensor>* fetched) const {
  const std::vector<Plan::Fetch>& fetches = run.rest.plan.fetches;
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
    std::copy_n(run.rest.addresses[fetch.buffer.index], tensor.bytes().size(),
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
  return GuardedCall("a run", [&] { return RunUnguarded(feeds, fetches, step, fetched); });
}

absl::Status Executor::RunUnguarded(absl::Span<const Feed> feeds,
                                    absl::Span<const std::string> fetches, uint32_t step,
                                    std::vector<Tensor>* fetched) {
  for (const Feed& feed : feeds) {
    RETURN_IF_ERROR(CheckGiven(feed.name, *feed.value, options_.check_finite));
  }
  ASSIGN_OR_RETURN(PlannedRun * run, FindOrPlan(feeds, fetches));
  NewTensors created;
  RETURN_IF_ERROR(Bind(run, &created));
  for (const Plan::Binding& binding : run->rest.plan.feeds) {
    const auto feed = std::find_if(feeds.begin(), feeds.end(),
                                   [&](const Feed& feed) { return feed.name == binding.name; });
    // A step only reads feeds.
    run->rest.addresses[binding.buffer.index] = const_cast<uint8_t*>(feed->value->bytes().data());
  }
  std::fill(block_runs_.begin(), block_runs_.end(), 0);
  LoopBound loops(options_.max_iterations);
  const RunState state{
      options_.seed, step, options_.check_finite, op_count_, absl::MakeSpan(block_runs_), &loops};
  if (run->first) RETURN_IF_ERROR(RunPieces(run, state));
  RETURN_IF_ERROR(RunPlaced(&run->rest, state));
  const absl::Status status = Fetch(*run, fetched);
  for (auto& [name, tensor] : created) scope_->Set(name, std::move(tensor));
  // Set again, so that the plans for the previous offsets do not appear to fit.
  for (const Plan::Persistable* persistable : run->to_cut_anew) {
    Tensor tensor = std::move(std::get<Tensor>(*scope_->FindOrNull(persistable->name)));
    tensor.set_lod(*persistable->lod_after);
    scope_->Set(persistable->name, std::move(tensor));
  }
  return status;
}

absl::Status Executor::RunPlaced(PlacedPlan* placed, const RunState& state) {
  const StepContext context(placed->addresses, state);
  ++placed->times.runs;
  for (size_t i = 0; i < placed->plan.steps.size(); ++i) {
    const auto begin = options_.profile ? Clock::now() : Clock::time_point();
    RETURN_IF_ERROR(RunStep(placed->plan, placed->plan.steps[i], context));
    if (options_.profile) {
      placed->times.seconds[i] += std::chrono::duration<double>(Clock::now() - begin).count();
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::RunPieces(PlannedRun* run, const RunState& state) {
  auto& [piece, count, parts] = *run->first;
  for (int64_t i = 0; i < count; ++i) {
    for (const Buffer part : parts) {
      piece.addresses[part.index] =
          run->rest.addresses[part.index] + i * piece.plan.buffers[part.index].bytes();
    }
    RETURN_IF_ERROR(RunPlaced(&piece, state));
  }
  return absl::OkStatus();
}

std::string Executor::PlanText() const {
  std::string text;
  for (const std::unique_ptr<PlannedRun>& run : runs_) {
    if (run->first) {
      absl::StrAppend(&text, "for each of ", run->first->count, " pieces of the batch\n",
                      executor::PlanText(run->first->placed.plan), "then\n");
    }
    text += executor::PlanText(run->rest.plan);
  }
  return text;
}

std::string Executor::ProfileText() const {
  if (!options_.profile) return "";
  const kernels::Peaks peaks = kernels::MeasurePeaks();
  std::string text;
  for (const std::unique_ptr<PlannedRun>& run : runs_) {
    if (run->rest.times.runs == 0) continue;
    if (run->first) {
      const PlacedPlan& piece = run->first->placed;
      absl::StrAppend(&text, "each of ", run->first->count, " pieces of the batch: ",
                      executor::ProfileText(piece.plan, piece.times, peaks), "then ");
    }
    text += executor::ProfileText(run->rest.plan, run->rest.times, peaks);
  }
  return text;
}

absl::StatusOr<const Plan*> Executor::PlanOf(absl::Span<const Feed> feeds,
                                             absl::Span<const std::string> fetches) {
  return GuardedCall("a plan", [&]() -> absl::StatusOr<const Plan*> {
    ASSIGN_OR_RETURN(const PlannedRun* run, FindOrPlan(feeds, fetches));
    return &run->rest.plan;
  });
}

absl::StatusOr<double> Executor::BytesMovedBy(absl::Span<const Feed> feeds,
                                              absl::Span<const std::string> fetches) {
  return GuardedCall("a plan", [&]() -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(const PlannedRun* run, FindOrPlan(feeds, fetches));
    const PlannedRun::First* const first = run->first ? &*run->first : nullptr;
    const double of_pieces =
        first != nullptr ? static_cast<double>(first->count) * BytesMoved(first->placed.plan) : 0;
    return of_pieces + BytesMoved(run->rest.plan);
  });
}

}  // namespace fixpoint::executor
