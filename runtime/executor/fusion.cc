#include "runtime/executor/fusion.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "runtime/executor/fused_step.h"
#include "runtime/kernels/fused_loops.h"

namespace fixpoint::executor {
namespace {

using kernels::FusedLoops;

// How many steps after the first are asked whether they can be fused with it.
constexpr size_t kMostSteps = 128;
// A step that is no loop is passed only if it touches less than this part of a value.
constexpr int64_t kSmallPart = 16;

// How steps touch memory.
struct Access {
  bool reads = false;
  bool writes = false;
  bool is_at_place = true;  // element by element, at the places of their loops
};
// Of one step, in order of memory; of several, by memory. Memory is a buffer, or the tensor that it
// is in.
using StepAccesses = absl::InlinedVector<std::pair<int, Access>, 4>;
using Accesses = absl::flat_hash_map<int, Access>;

void Merge(const Access& from, Access* into) {
  into->reads |= from.reads;
  into->writes |= from.writes;
  into->is_at_place &= from.is_at_place;
}

void Merge(const StepAccesses& from, Accesses* into) {
  for (const auto& [memory, access] : from) Merge(access, &(*into)[memory]);
}

StepAccesses OnePerMemory(StepAccesses accesses) {
  std::sort(accesses.begin(), accesses.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t count = 0;
  for (const auto& [memory, access] : accesses) {
    if (count > 0 && accesses[count - 1].first == memory) {
      Merge(access, &accesses[count - 1].second);
    } else {
      accesses[count++] = {memory, access};
    }
  }
  accesses.resize(count);
  return accesses;
}

// Whether f(access in a, access in b) holds for any memory that both touch.
template <typename F>
bool AnyShared(const StepAccesses& a, const Accesses& b, F f) {
  return std::any_of(a.begin(), a.end(), [&](const auto& entry) {
    const auto other = b.find(entry.first);
    return other != b.end() && f(entry.second, other->second);
  });
}

// Whether their order matters.
bool Conflict(const StepAccesses& a, const Accesses& b) {
  return AnyShared(a, b, [](const Access& x, const Access& y) { return x.writes || y.writes; });
}

// Whether their order matters for whole tensors, and not element by element.
bool ConflictAsWholes(const StepAccesses& a, const Accesses& b) {
  return AnyShared(a, b, [](const Access& x, const Access& y) {
    return (x.writes || y.writes) && !(x.is_at_place && y.is_at_place);
  });
}

bool ShareElements(const StepAccesses& a, const Accesses& b) {
  return AnyShared(a, b,
                   [](const Access& x, const Access& y) { return x.is_at_place && y.is_at_place; });
}

struct PlacedStep {
  Step step;
  StepAccesses accesses;
};

// Steps that can be one.
class Group {
 public:
  explicit Group(int64_t size) : size_(size) {}

  // The elements that all loops go over.
  int64_t size() const { return size_; }
  const Accesses& accesses() const { return accesses_; }

  bool HasRoomFor(const Step& step) const {
    if (step.loops.empty() || step.loops.front().size != size_) return false;
    size_t foldings = foldings_;
    int64_t places = places_;
    int64_t row = row_;
    int64_t values = values_;
    for (const ElementLoop& loop : step.loops) {
      if (loop.reads.size() > FusedLoops::kMostOperands) return false;
      if (row != 1 && loop.row != 1 && loop.row != row) return false;
      row = std::max(row, loop.row);
      values += ValuesOf(loop);
      if (!loop.folding) continue;
      if (++foldings > FusedLoops::kMostFolds) return false;
      if (places != 0 && places != loop.folding->places) return false;
      places = loop.folding->places;
    }
    if (row != 1 && (foldings != 0 || !FusedLoops::HoldsRows(row, values))) return false;
    return loops_ + step.loops.size() <= FusedLoops::kMostLoops;
  }

  // Whether a step may come after these as one of them.
  bool CanTake(const PlacedStep& next) const {
    return HasRoomFor(next.step) && ShareElements(next.accesses, accesses_) &&
           !ConflictAsWholes(next.accesses, accesses_);
  }

  void Take(const PlacedStep& next) {
    loops_ += next.step.loops.size();
    for (const ElementLoop& loop : next.step.loops) {
      row_ = std::max(row_, loop.row);
      values_ += ValuesOf(loop);
      if (!loop.folding) continue;
      ++foldings_;
      places_ = loop.folding->places;
    }
    Merge(next.accesses, &accesses_);
  }

 private:
  // Of which a block may be in memory at once: what the loop computes, and what is repeated for it.
  static int64_t ValuesOf(const ElementLoop& loop) {
    if (loop.row > 1) return 1;
    return 1 + std::count_if(loop.reads.begin(), loop.reads.end(), [&](const auto& operand) {
             return operand.repetition.count != 1 && !IsAtPlace(loop, operand);
           });
  }

  const int64_t size_;
  int64_t row_ = 1;
  int64_t values_ = 0;
  size_t loops_ = 0;
  size_t foldings_ = 0;
  int64_t places_ = 0;  // of all foldings; 0: there are none
  Accesses accesses_;
};

class Fuser {
 public:
  explicit Fuser(Plan* plan)
      : plan_(*plan), memory_of_(plan->buffers.size()), uses_(plan->buffers.size()) {
    for (size_t i = 0; i < memory_of_.size(); ++i) memory_of_[i] = static_cast<int>(i);
    for (const auto& [buffer, tensor] : plan_.in_tensors) memory_of_[buffer.index] = tensor.index;
    for (const std::vector<Step>* steps : {&plan_.steps, &plan_.constant_steps}) {
      for (const Step& step : *steps) CountUses(step, &uses_);
    }
    for (const Plan::Fetch& fetch : plan_.fetches) ++uses_[fetch.buffer.index];
  }

  void Fuse(std::vector<Step>* steps) {
    std::vector<PlacedStep> placed;
    placed.reserve(steps->size());
    for (Step& step : *steps) {
      StepAccesses accesses = AccessesOf(step);
      placed.push_back({std::move(step), std::move(accesses)});
    }
    steps->clear();
    Fuse(std::move(placed), steps);
  }

  // The pairs that were there before, but for those that steps are fused of.
  std::vector<InPlace> InPlaceAfter(const std::vector<InPlace>& before) const {
    absl::flat_hash_set<std::pair<int, int>> pairs_before;
    absl::flat_hash_set<int> written_by_fused;
    for (const InPlace& pair : before) pairs_before.insert({pair.written.index, pair.read.index});
    for (const FusedStep& fused : fused_) fused.AddWritten(&written_by_fused);
    std::vector<InPlace> after;
    for (const InPlace& pair : before) {
      if (!written_by_fused.contains(pair.written.index)) after.push_back(pair);
    }
    for (const FusedStep& fused : fused_) {
      const std::vector<InPlace> pairs = fused.FindInPlace(pairs_before);
      after.insert(after.end(), pairs.begin(), pairs.end());
    }
    return after;
  }

 private:
  // Counts the steps that read or write each buffer.
  template <typename Uses>
  static void CountUses(const Step& step, Uses* uses) {
    for (const std::vector<Buffer>* buffers : {&step.reads, &step.writes}) {
      for (const Buffer& buffer : *buffers) ++(*uses)[buffer.index];
    }
  }

  StepAccesses AccessesOf(const Step& step) const {
    StepAccesses accesses;
    const auto note = [&](Buffer buffer, bool writes, bool is_at_place) {
      accesses.push_back({memory_of_[buffer.index], {!writes, writes, is_at_place}});
    };
    if (step.loops.empty()) {
      for (const Buffer& buffer : step.reads) note(buffer, false, false);
      for (const Buffer& buffer : step.writes) note(buffer, true, false);
    }
    for (const ElementLoop& loop : step.loops) {
      for (const auto& operand : loop.reads) note(operand.buffer, false, IsAtPlace(loop, operand));
      note(loop.result, true, !loop.folding);
    }
    return OnePerMemory(std::move(accesses));
  }

  bool IsPassable(const Step& step, int64_t size) const {
    if (step.block != nullptr || step.in_each_run) return false;
    if (!step.loops.empty()) return true;
    int64_t bytes = 0;
    for (const std::vector<Buffer>* buffers : {&step.reads, &step.writes}) {
      for (const Buffer& buffer : *buffers) bytes += plan_.buffers[buffer.index].bytes();
    }
    return bytes < size * static_cast<int64_t>(sizeof(float)) / kSmallPart;
  }

  // The places of the steps that can be one with the first, in ascending order.
  std::vector<size_t> GroupOf(const std::vector<PlacedStep>& steps, size_t first) const {
    const Step& begin = steps[first].step;
    if (begin.loops.empty() || begin.loops.front().size == 0) return {first};
    Group group(begin.loops.front().size);
    if (!group.HasRoomFor(begin)) return {first};
    group.Take(steps[first]);
    std::vector<size_t> members = {first};
    Accesses after;  // of steps that have to come after the group
    const size_t end = std::min(steps.size(), first + kMostSteps);
    for (size_t i = first + 1; i < end && IsPassable(steps[i].step, group.size()); ++i) {
      const StepAccesses& accesses = steps[i].accesses;
      const bool has_to_wait = Conflict(accesses, after);
      if (!has_to_wait && group.CanTake(steps[i])) {
        group.Take(steps[i]);
        members.push_back(i);
      } else if (has_to_wait || Conflict(accesses, group.accesses())) {
        Merge(accesses, &after);
      }
    }
    return members;
  }

  // Appends the steps, fused, to `fused`.
  void Fuse(std::vector<PlacedStep> steps, std::vector<Step>* fused) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const std::vector<size_t> members = GroupOf(steps, i);
      if (members.size() == 1) {
        fused->push_back(std::move(steps[i].step));
        continue;
      }
      // What lies between them comes before, if one of them needs that, or else after.
      Accesses of_later;
      std::vector<PlacedStep> before;
      std::vector<PlacedStep> after;
      std::vector<Step> together;
      auto member = members.rbegin();
      for (size_t at = members.back() + 1; at-- > i;) {
        PlacedStep& step = steps[at];
        const bool is_member = member != members.rend() && *member == at;
        const bool comes_before = is_member || Conflict(step.accesses, of_later);
        if (comes_before) Merge(step.accesses, &of_later);
        if (is_member) {
          together.push_back(std::move(step.step));
          ++member;
        } else {
          (comes_before ? before : after).push_back(std::move(step));
        }
      }
      for (auto* list : {&before, &after}) std::reverse(list->begin(), list->end());
      std::reverse(together.begin(), together.end());
      Fuse(std::move(before), fused);
      fused->push_back(MakeOne(together));
      const size_t rest = members.back() + 1 - after.size();
      std::move(after.begin(), after.end(), steps.begin() + static_cast<std::ptrdiff_t>(rest));
      i = rest - 1;
    }
  }

  Step MakeOne(const std::vector<Step>& steps) {
    absl::flat_hash_map<int, int> of_these;
    for (const Step& step : steps) CountUses(step, &of_these);
    fused_.emplace_back(steps, plan_, [&](Buffer buffer) {
      const BufferInfo::Place place = plan_.buffers[buffer.index].place;
      const bool is_of_steps =
          place == BufferInfo::Place::kArena || place == BufferInfo::Place::kConstantScratch;
      return !is_of_steps || uses_.at(buffer.index) > of_these.at(buffer.index);
    });
    return fused_.back().TakeStep();
  }

  const Plan& plan_;
  std::vector<int> memory_of_;  // for each buffer, the first of those that lie there
  std::vector<int> uses_;       // for each buffer, the steps that read or write it
  std::vector<FusedStep> fused_;
};

}  // namespace

void FuseSteps(std::vector<InPlace>* in_place, Plan* plan) {
  Fuser fuser(plan);
  fuser.Fuse(&plan->steps);
  fuser.Fuse(&plan->constant_steps);
  *in_place = fuser.InPlaceAfter(*in_place);
}

}  // namespace fixpoint::executor
