#include "runtime/executor/pieces.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/arena.h"
#include "runtime/kernels/deferred_primitives.h"
#include "runtime/kernels/machine.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

using Place = BufferInfo::Place;

bool IsOfImages(const Step& step) {
  return step.op != nullptr && step.block == nullptr && !step.in_each_run &&
         TraitsOf(*step.op).is_of_samples &&
         std::all_of(step.other_ops.begin(), step.other_ops.end(),
                     [](const Op* op) { return op != nullptr && TraitsOf(*op).is_of_samples; });
}

std::vector<Buffer> TouchedBy(const Step& step) {
  std::vector<Buffer> buffers = step.reads;
  buffers.insert(buffers.end(), step.writes.begin(), step.writes.end());
  return buffers;
}

// A feed whose first extent the program leaves open.
bool HasBatch(const Program& program, const FeedType& feed) {
  const Variable* variable = program.Find(program.block(0), feed.name);
  const VarType::TensorDesc* tensor = variable != nullptr ? variable->tensor() : nullptr;
  return feed.given.lod.empty() && tensor != nullptr && !tensor->dims().empty() &&
         tensor->dims(0) == -1;
}

// The number of images of a run; 0: the inputs are not images.
int64_t BatchOf(const Program& program, const PlanRequest& request) {
  for (const FeedType& feed : request.feeds) {
    const Dims& dims = feed.given.type.dims;
    if (dims.size() == 4 && HasBatch(program, feed)) return dims[0];
  }
  return 0;
}

PlanRequest ForBatch(const Program& program, PlanRequest request, int64_t from, int64_t to) {
  for (FeedType& feed : request.feeds) {
    Dims& dims = feed.given.type.dims;
    if (HasBatch(program, feed) && dims[0] == from) dims[0] = to;
  }
  return request;
}

// The first steps of a plan, up to the last that works on images alone, and the bytes that they
// move.
class FirstSteps {
 public:
  FirstSteps(const Plan& plan, int64_t batch) : plan_(plan), batch_(batch) {
    const auto end = std::find_if_not(plan.steps.begin(), plan.steps.end(), IsOfImages);
    count_ = end - plan.steps.begin();
  }

  // The largest divisor of the batch with which each step keeps to the cache, or 1.
  int64_t PieceSize() const {
    int64_t most = 0;
    for (int64_t i = 0; i < count_; ++i) most = std::max(most, BytesOfImages(plan_.steps[i]));
    int64_t size = batch_;
    while (size > 1 && (batch_ % size != 0 || most / batch_ * size > kernels::kBytesOfPiece))
      --size;
    return size;
  }

  // How many of the first `most` steps are best run in pieces: those that save the most bytes. A
  // piece saves what stays in the cache and reads the parameters once more.
  int64_t Best(int64_t pieces, int64_t most) const {
    int64_t best = 0;
    int64_t best_saved = 0;
    int64_t saved = 0;
    for (int64_t i = 0; i < std::min(most, count_); ++i) {
      const int64_t images = BytesOfImages(plan_.steps[i]);
      if (images > kernels::kBytesOfPiece) saved += images;
      saved -= (pieces - 1) * (Bytes(plan_.steps[i]) - images);
      if (saved > best_saved) {
        best_saved = saved;
        best = i + 1;
      }
    }
    return best;
  }

 private:
  int64_t BytesOfImages(const Step& step) const {
    int64_t bytes = 0;
    for (const Buffer buffer : TouchedBy(step)) {
      const BufferInfo& info = plan_.buffers[buffer.index];
      if (info.place == Place::kArena || info.place == Place::kFeed) bytes += info.bytes();
    }
    return bytes;
  }

  int64_t Bytes(const Step& step) const {
    int64_t bytes = 0;
    for (const Buffer buffer : TouchedBy(step)) bytes += plan_.buffers[buffer.index].bytes();
    return bytes;
  }

  const Plan& plan_;
  const int64_t batch_;
  int64_t count_;
};

// The plans of a batch and of one piece of it, side by side.
class BesidePiece {
 public:
  BesidePiece(const Plan& whole, const Plan& piece, int64_t pieces)
      : whole_(whole), piece_(piece), pieces_(pieces) {}

  // How many of the first steps are the same for a whole batch and for a piece of it.
  int64_t AlikeSteps() const {
    size_t i = 0;
    while (i < whole_.steps.size() && i < piece_.steps.size() && AreAlike(i)) ++i;
    return static_cast<int64_t>(i);
  }

 private:
  bool AreAlike(size_t index) const {
    const Step& whole = whole_.steps[index];
    const Step& piece = piece_.steps[index];
    return whole.op == piece.op && whole.name == piece.name && whole.reads == piece.reads &&
           whole.writes == piece.writes &&
           std::all_of(whole.reads.begin(), whole.reads.end(),
                       [this](Buffer read) { return IsOfPiece(read) || IsShared(read.index); }) &&
           std::all_of(whole.writes.begin(), whole.writes.end(),
                       [this](Buffer written) { return IsOfPiece(written); });
  }

  bool IsOfPiece(Buffer buffer) const { return IsPart(buffer.index) || IsScratch(buffer.index); }

  // Images of which a piece has its part, which begins where a tensor may.
  bool IsPart(int index) const {
    const BufferInfo& whole = whole_.buffers[index];
    const BufferInfo& piece = piece_.buffers[index];
    Dims dims = piece.type.dims;
    if (dims.size() != 4) return false;
    dims[0] *= pieces_;
    return (whole.place == Place::kArena || whole.place == Place::kFeed) &&
           piece.place == whole.place && whole.layout == piece.layout &&
           whole.type == TensorType{piece.type.dtype, dims} &&
           piece.bytes() % Tensor::kAlignment == 0;
  }

  // Buffers that depend on parameters alone.
  bool IsShared(int index) const {
    const Place place = whole_.buffers[index].place;
    return (place == Place::kConstant || place == Place::kScope) &&
           piece_.buffers[index].place == place;
  }

  // Buffers that only one step touches.
  bool IsScratch(int index) const {
    const auto is_scratch = [index](const Plan& plan) {
      const BufferInfo& info = plan.buffers[index];
      return info.place == Place::kArena && info.first_step == info.last_step;
    };
    return is_scratch(whole_) && is_scratch(piece_);
  }

  const Plan& whole_;
  const Plan& piece_;
  const int64_t pieces_;
};

// Keeps the constant steps that a step needs.
void RemoveUnreadConstants(Plan* plan) {
  std::vector<bool> is_read(plan->buffers.size(), false);
  const auto note_reads = [&](const Step& step) {
    for (const Buffer buffer : step.reads) is_read[buffer.index] = true;
  };
  for (const Step& step : plan->steps) note_reads(step);
  for (const Plan::Fetch& fetch : plan->fetches) {
    for (const Buffer buffer : fetch.buffers()) is_read[buffer.index] = true;
  }
  std::vector<Step> kept;
  for (auto step = plan->constant_steps.rbegin(); step != plan->constant_steps.rend(); ++step) {
    const bool is_needed = std::any_of(step->writes.begin(), step->writes.end(),
                                       [&](Buffer buffer) { return is_read[buffer.index]; });
    if (!is_needed) continue;
    note_reads(*step);
    kept.push_back(std::move(*step));
  }
  plan->constant_steps.assign(std::make_move_iterator(kept.rbegin()),
                              std::make_move_iterator(kept.rend()));
  for (size_t i = 0; i < plan->buffers.size(); ++i) {
    // A buffer that no step touches takes no memory.
    Place& place = plan->buffers[i].place;
    if (place == Place::kConstant && !is_read[i]) place = Place::kConstantScratch;
  }
}

// Which buffers took the place of another buffer, whose last reader wrote them.
std::vector<InPlace> InPlaceBefore(const Plan& plan) {
  std::vector<InPlace> pairs;
  for (const Step& step : plan.steps) {
    for (const Buffer written : step.writes) {
      for (const Buffer read : step.reads) {
        const BufferInfo& to = plan.buffers[written.index];
        const BufferInfo& from = plan.buffers[read.index];
        if (to.place == Place::kArena && from.place == Place::kArena && to.offset == from.offset) {
          pairs.push_back({written, read});
        }
      }
    }
  }
  return pairs;
}

// Places the buffers again. The buffers of `given` hold something from the beginning.
void PlaceAnew(const std::vector<Buffer>& given, Plan* plan) {
  const std::vector<InPlace> in_place = InPlaceBefore(*plan);
  RemoveUnreadConstants(plan);
  for (BufferInfo& info : plan->buffers) info.first_step = info.last_step = info.offset = -1;
  plan->constant_scratch_bytes =
      PlaceBuffers({}, plan->constant_steps, Place::kConstantScratch, plan);
  for (const Buffer buffer : given) {
    BufferInfo& info = plan->buffers[buffer.index];
    if (info.place == Place::kArena) info.first_step = info.last_step = 0;
  }
  plan->arena_bytes = PlaceBuffers(in_place, plan->steps, Place::kArena, plan);
}

// What the first steps share with a run or with the rest: feeds, and what others read.
std::vector<Buffer> PartsOf(const Plan& whole, int64_t steps) {
  std::vector<bool> is_read(whole.buffers.size(), false);
  for (size_t i = steps; i < whole.steps.size(); ++i) {
    for (const Buffer buffer : whole.steps[i].reads) is_read[buffer.index] = true;
  }
  for (const Plan::Fetch& fetch : whole.fetches) {
    for (const Buffer buffer : fetch.buffers()) is_read[buffer.index] = true;
  }
  std::vector<Buffer> parts;
  for (int64_t i = 0; i < steps; ++i) {
    for (const Buffer buffer : TouchedBy(whole.steps[i])) {
      const Place place = whole.buffers[buffer.index].place;
      const bool is_part =
          place == Place::kFeed || (place == Place::kArena && is_read[buffer.index]);
      if (is_part && std::find(parts.begin(), parts.end(), buffer) == parts.end()) {
        parts.push_back(buffer);
      }
    }
  }
  return parts;
}

// Takes the first steps out of a plan for that request. Nothing, with the plan unchanged, if there
// are none that are better run in pieces.
std::optional<Pieces> TakePieces(ProgramPlan& program, const PlanRequest& request,
                                 const FindPersistable& find_persistable, Plan* plan) {
  const int64_t batch = BatchOf(program.program(), request);
  if (batch <= 1) return std::nullopt;
  const FirstSteps first(*plan, batch);
  const int64_t size = first.PieceSize();
  const int64_t count = batch / size;
  if (count == 1 || first.Best(count, plan->steps.size()) == 0) return std::nullopt;
  absl::StatusOr<Plan> piece =
      MakePlan(program, ForBatch(program.program(), request, batch, size), find_persistable);
  // A program may be for one batch size alone.
  if (!piece.ok()) return std::nullopt;
  const int64_t steps = first.Best(count, BesidePiece(*plan, *piece, count).AlikeSteps());
  if (steps == 0) return std::nullopt;

  Pieces pieces{*std::move(piece), count, PartsOf(*plan, steps)};
  pieces.plan.steps.resize(steps);
  pieces.plan.feeds.clear();
  pieces.plan.fetches.clear();
  for (Buffer& part : pieces.parts) {
    BufferInfo& info = pieces.plan.buffers[part.index];
    info.place = Place::kFeed;
    part.size = info.type.size();
  }
  PlaceAnew({}, &pieces.plan);
  plan->steps.erase(plan->steps.begin(), plan->steps.begin() + steps);
  PlaceAnew(pieces.parts, plan);
  return pieces;
}

}  // namespace

absl::StatusOr<BatchPlan> PlanBatch(ProgramPlan& program, const PlanRequest& request,
                                    const FindPersistable& find_persistable) {
  if (request.has_constants && !request.keeps_all) {
    kernels::DeferredPrimitives primitives;
    ASSIGN_OR_RETURN(Plan plan, MakePlan(program, request, find_persistable));
    std::optional<Pieces> pieces = TakePieces(program, request, find_persistable, &plan);
    if (primitives.Make().ok()) return BatchPlan{std::move(plan), std::move(pieces)};
    // A kernel that finds that its primitive cannot be created is planned differently.
  }
  ASSIGN_OR_RETURN(Plan plan, MakePlan(program, request, find_persistable));
  return BatchPlan{std::move(plan)};
}

}  // namespace fixpoint::executor
