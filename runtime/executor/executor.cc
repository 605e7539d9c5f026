#include "runtime/executor/executor.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/bool_bytes.h"
#include "runtime/executor/cost.h"
#include "runtime/executor/outer_tensors.h"
#include "runtime/executor/plan_cache.h"
#include "runtime/executor/planned_run.h"
#include "runtime/executor/planner.h"
#include "runtime/executor/profile.h"
#include "runtime/executor/recipes.h"
#include "runtime/finite_values.h"
#include "runtime/guarded_call.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/peaks.h"
#include "runtime/kernels/threads.h"
#include "runtime/loop_bound.h"
#include "runtime/memory.h"
#include "runtime/thread_count.h"

namespace fixpoint::executor {
namespace {

uint32_t CountOps(const Program& program) {
  int count = 0;
  for (int b = 0; b < program.block_count(); ++b) count += program.block(b).op_count();
  return static_cast<uint32_t>(count);
}

// Outside plans a tensor is a scalar if its variable is declared as one.
std::vector<int64_t> DimsOutside(const Program& program, const std::string& variable,
                                 const Dims& planned) {
  const Variable* declared = program.Find(program.block(0), variable);
  const VarType::TensorDesc* tensor = declared != nullptr ? declared->tensor() : nullptr;
  if (tensor != nullptr && tensor->dims().empty() && planned == Dims{1}) return {};
  return {planned.begin(), planned.end()};
}

// A tensor outside plans. Error: there is no memory for it.
absl::StatusOr<Tensor> AllocateOutside(const Program& program, const std::string& variable,
                                       const TensorType& type, const LoD& lod) {
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(type.dtype, DimsOutside(program, variable, type.dims)));
  tensor.set_lod(lod);
  return tensor;
}

// The inputs of a run. Errors: a byte is no BOOL; NotFiniteError, if that is checked.
absl::Status CheckGiven(absl::string_view name, const Tensor& tensor, bool check_finite) {
  absl::Status status = CheckBoolBytes(tensor);
  if (status.ok() && check_finite) status = CheckFinite(tensor);
  return status.ok() ? status : AtPlace(absl::StrCat("variable \"", name, "\""), status);
}

}  // namespace

absl::Status CheckBackward(BackwardPrecision precision) {
  return precision == BackwardPrecision::kFloat ? absl::OkStatus()
                                                : kernels::CheckBfloat16Products();
}

Executor::Executor(const Program& program, Scope* scope, Schedule schedule,
                   const ExecutorOptions& options)
    : program_(program),
      scope_(scope),
      options_(options),
      plans_(std::make_unique<PlanCache>(program, *scope, std::move(schedule), options_)),
      op_count_(CountOps(program)),
      block_runs_(program.block_count(), 0) {}

Executor::~Executor() = default;

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(const Program& program, Scope* scope,
                                                           const ExecutorOptions& options) {
  using Made = absl::StatusOr<std::unique_ptr<Executor>>;
  return GuardedCall("the executor", [&]() -> Made {
    RETURN_IF_ERROR(CheckThreadCount(options.threads));
    RETURN_IF_ERROR(CheckBackward(options.backward));
    RETURN_IF_ERROR(CheckOps(program));
    ASSIGN_OR_RETURN(Schedule schedule, Schedule::Of(program));
    return std::unique_ptr<Executor>(new Executor(program, scope, std::move(schedule), options));
  });
}

// Finds the memory of persistable values and of the arena, which both stay where they are from run
// to run.
absl::Status Executor::Bind(PlannedRun* run, NewTensors* created) {
  if (run->scope_revision == scope_->revision() && run->arena == plans_->arena()) {
    return absl::OkStatus();
  }
  PlacedPlan& rest = run->rest;
  rest.PlaceIn(plans_->arena());
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
    piece.PlaceIn(plans_->arena() + rest.plan.arena_bytes);
    // Its steps only read them.
    for (const Plan::Persistable& persistable : piece.plan.persistables) {
      Scope::Value* const value = scope_->FindOrNull(persistable.name);
      if (value == nullptr) continue;
      piece.addresses[persistable.buffer.index] = std::get<Tensor>(*value).mutable_bytes().data();
    }
    if (is_scope_new) RETURN_IF_ERROR(ComputeConstants(&piece));
  }
  run->scope_revision = created->empty() ? std::optional(scope_->revision()) : std::nullopt;
  run->arena = plans_->arena();
  return absl::OkStatus();
}

std::shared_ptr<const Constant> Executor::FindConstant(const std::string& recipe) {
  std::shared_ptr<const Constant> constant = constants_.Find(recipe);
  if (constant != nullptr) return constant;
  constant = options_.constants->FindMade(recipe);
  if (constant != nullptr) constants_.Add(recipe, constant);
  return constant;
}

absl::Status Executor::ComputeConstants(PlacedPlan* placed) {
  const Plan& plan = placed->plan;
  if (plan.constant_steps.empty()) return absl::OkStatus();
  std::vector<std::string> recipes = RecipesOf(plan);
  std::vector<std::shared_ptr<const Constant>> found(plan.buffers.size());
  std::vector<size_t> computed;
  std::vector<bool> is_wanted(plan.buffers.size(), false);
  int64_t bytes = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].place != BufferInfo::Place::kConstant) continue;
    if (!recipes[i].empty()) {
      recipes[i] = absl::StrCat(scope_->revision(), ":", recipes[i]);
      found[i] = FindConstant(recipes[i]);
    }
    if (found[i] != nullptr) continue;
    computed.push_back(i);
    is_wanted[i] = true;
    bytes += Aligned(plan.buffers[i].bytes());
  }
  ASSIGN_OR_RETURN(const Memory scratch,
                   AllocateMemory(computed.empty() ? 0 : plan.constant_scratch_bytes,
                                  "what constants are computed from"));
  // Adjacent, because a run reads them one after the other.
  ASSIGN_OR_RETURN(Memory memory, AllocateMemory(bytes, "constants"));
  std::vector<absl::Span<const uint8_t>> spans;
  uint8_t* next = memory.get();
  for (const size_t i : computed) {
    placed->addresses[i] = next;
    spans.emplace_back(next, static_cast<size_t>(plan.buffers[i].bytes()));
    next += Aligned(plan.buffers[i].bytes());
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferInfo& info = plan.buffers[i];
    // A step only reads what it does not write.
    if (found[i] != nullptr) {
      placed->addresses[i] = const_cast<uint8_t*>(found[i]->bytes().data());
    } else if (info.place == BufferInfo::Place::kConstantScratch && info.offset >= 0) {
      placed->addresses[i] = scratch.get() + info.offset;
    }
  }
  std::vector<const Step*> steps;
  for (auto step = plan.constant_steps.rbegin(); step != plan.constant_steps.rend(); ++step) {
    const bool is_needed = std::any_of(step->writes.begin(), step->writes.end(),
                                       [&](Buffer buffer) { return is_wanted[buffer.index]; });
    if (!is_needed) continue;
    for (const Buffer read : step->reads) is_wanted[read.index] = found[read.index] == nullptr;
    steps.push_back(&*step);
  }
  LoopBound loops(options_.max_iterations);
  const RunState state{
      options_.seed, /*step=*/0, options_.check_finite, op_count_, absl::MakeSpan(block_runs_),
      &loops};
  const StepContext context(placed->addresses, state);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    RETURN_IF_ERROR(RunStep(plan, **step, context));
  }
  ASSIGN_OR_RETURN(placed->constants, options_.constants->Share(std::move(memory), spans));
  for (size_t i = 0; i < computed.size(); ++i) {
    const std::shared_ptr<const Constant>& constant = placed->constants[i];
    placed->addresses[computed[i]] = const_cast<uint8_t*>(constant->bytes().data());
    const std::string& recipe = recipes[computed[i]];
    if (recipe.empty()) continue;
    constants_.Add(recipe, constant);
    options_.constants->AddMade(recipe, constant);
  }
  for (std::shared_ptr<const Constant>& constant : found) {
    if (constant != nullptr) placed->constants.push_back(std::move(constant));
  }
  return absl::OkStatus();
}

absl::Status Executor::Fetch(const PlannedRun& run, std::vector<Tensor>* fetched) const {
  const std::vector<Plan::Fetch>& fetches = run.rest.plan.fetches;
  const RunState state;
  const StepContext context(run.rest.addresses, state);
  if (fetched->size() != fetches.size()) fetched->clear();
  for (size_t i = 0; i < fetches.size(); ++i) {
    const Plan::Fetch& fetch = fetches[i];
    GivenType given{fetch.type, fetch.lod};
    if (fetch.run_shape) {
      ASSIGN_OR_RETURN(given, ShapeInRun(fetch.type, *fetch.run_shape, context));
    }
    const bool is_there = i < fetched->size();
    if (!is_there || (*fetched)[i].lod() != given.lod || TypeOf((*fetched)[i]) != given.type) {
      ASSIGN_OR_RETURN(Tensor made, AllocateOutside(program_, fetch.name, given.type, given.lod));
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
  const kernels::ThreadsInUse threads(options_.threads);
  ASSIGN_OR_RETURN(PlannedRun * run, plans_->FindOrPlan(feeds, fetches));
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
  RETURN_IF_ERROR(RunAllSteps(state, options_.profile, run));
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

std::string Executor::PlanText() const {
  std::string text;
  for (const std::unique_ptr<PlannedRun>& run : plans_->runs()) {
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
  const kernels::ThreadsInUse threads(options_.threads);
  const kernels::Peaks peaks = kernels::MeasurePeaks();
  std::string text;
  for (const std::unique_ptr<PlannedRun>& run : plans_->runs()) {
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

CodedProducts Executor::CountCodedProducts() const {
  std::optional<CodedProducts> slowest;
  for (const std::unique_ptr<PlannedRun>& run : plans_->runs()) {
    CodedProducts products = executor::CountCodedProducts(run->rest.plan);
    if (run->first) products += executor::CountCodedProducts(run->first->placed.plan);
    if (!slowest || products.slower_than_floats > slowest->slower_than_floats) slowest = products;
  }
  return slowest.value_or(CodedProducts());
}

std::vector<ProfileRow> Executor::ProfileRows() const {
  std::vector<ProfileRow> rows;
  const auto append = [&rows](const PlacedPlan& placed, int64_t times) {
    for (ProfileRow& row : executor::ProfileRows(placed.plan, placed.times)) {
      row.steps *= static_cast<int>(times);
      row.seconds *= static_cast<double>(times);
      row.bytes *= static_cast<double>(times);
      row.operations *= static_cast<double>(times);
      rows.push_back(std::move(row));
    }
  };
  for (const std::unique_ptr<PlannedRun>& run : plans_->runs()) {
    if (!options_.profile || run->rest.times.runs == 0) continue;
    if (run->first) append(run->first->placed, run->first->count);
    append(run->rest, 1);
  }
  return rows;
}

absl::StatusOr<const Plan*> Executor::PlanOf(absl::Span<const Feed> feeds,
                                             absl::Span<const std::string> fetches) {
  return GuardedCall("a plan", [&]() -> absl::StatusOr<const Plan*> {
    const kernels::ThreadsInUse threads(options_.threads);
    ASSIGN_OR_RETURN(const PlannedRun* run, plans_->FindOrPlan(feeds, fetches));
    return &run->rest.plan;
  });
}

absl::StatusOr<double> Executor::BytesMovedBy(absl::Span<const Feed> feeds,
                                              absl::Span<const std::string> fetches) {
  return GuardedCall("a plan", [&]() -> absl::StatusOr<double> {
    const kernels::ThreadsInUse threads(options_.threads);
    ASSIGN_OR_RETURN(const PlannedRun* run, plans_->FindOrPlan(feeds, fetches));
    const PlannedRun::First* const first = run->first ? &*run->first : nullptr;
    const double of_pieces =
        first != nullptr ? static_cast<double>(first->count) * BytesMoved(first->placed.plan) : 0;
    return of_pieces + BytesMoved(run->rest.plan);
  });
}

}  // namespace fixpoint::executor
