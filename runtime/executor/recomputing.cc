#include "runtime/executor/recomputing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/executor/constants.h"
#include "runtime/executor/cost.h"
#include "runtime/kernels/kernel_speeds.h"

namespace fixpoint::executor {
namespace {

// A value that is smaller, as a part of the arena, is not worth a step.
constexpr int64_t kSmallPart = 256;

// What a core of a Zen 4 reaches. Only how long steps take beside each other matters.
kernels::KernelSpeeds AssumedSpeeds() {
  kernels::KernelSpeeds speeds;
  speeds.float_operations = 80e9;
  speeds.integer_operations = 160e9;
  speeds.wide_operations = 40e9;
  speeds.bytes = 12e9;
  speeds.cached_bytes = 60e9;
  speeds.start = 2e-6;
  return speeds;
}

double SecondsOf(const Plan& plan, const Step& step) {
  Cost cost = CostOf(plan, step);
  kernels::KernelSpeeds speeds = AssumedSpeeds();
  if (step.beside_floats) speeds.integer_operations = *step.beside_floats * speeds.float_operations;
  const VarType::Type read =
      step.reads.empty() ? VarType::FP32 : plan.buffers[step.reads.front().index].type.dtype;
  // Convolutions' gradients take so much less time in bfloat16.
  if (read == VarType::BF16) cost.operations /= 1.7;
  return Expect(cost, speeds).seconds;
}

// A step that runs again, right before the step `at`.
struct Again {
  int step;
  int at;
};

// When buffers hold something. A step is a point in time, which it shares with those that run again
// right before it.
class Timeline {
 public:
  Timeline(const std::vector<InPlace>& in_place, const Plan& plan)
      : plan_(plan), end_(static_cast<int>(plan.steps.size())), uses_(plan.buffers.size()) {
    std::vector<int> memory_of(plan.buffers.size());
    std::iota(memory_of.begin(), memory_of.end(), 0);
    for (const auto& [buffer, tensor] : plan.in_tensors) memory_of[buffer.index] = tensor.index;
    std::vector<Steps> writes_to(plan.buffers.size());
    for (int i = 0; i < end_; ++i) {
      for (const Buffer read : plan.steps[i].reads) Add(i, &uses_[read.index]);
      for (const Buffer written : plan.steps[i].writes) {
        Add(i, &uses_[written.index]);
        Add(i, &writes_to[memory_of[written.index]]);
      }
    }
    for (const int memory : memory_of) writes_.push_back(writes_to[memory]);
    for (const Plan::Fetch& fetch : plan.fetches) {
      for (const Buffer buffer : fetch.buffers()) Add(end_, &uses_[buffer.index]);
    }
    for (const InPlace& pair : in_place) {
      const bool is_in_place = IsInArena(pair.read) && IsInArena(pair.written) &&
                               SizeOf(pair.read) == SizeOf(pair.written);
      if (is_in_place) in_place_.push_back(pair);
    }
  }

  int64_t SizeOf(Buffer buffer) const { return Aligned(plan_.buffers[buffer.index].bytes()); }

  // What has to run again if a buffer that no use touches at a step is to be free there, beside
  // what runs again already; nothing: it cannot be free.
  std::optional<Again> FreeAt(Buffer buffer, int step, const std::vector<Again>& again) const {
    if (!IsInArena(buffer) || writes_[buffer.index].size() != 1) return std::nullopt;
    const Steps uses = UsesWith(again, buffer);
    const auto next = std::lower_bound(uses.begin(), uses.end(), step);
    if (next == uses.begin() || next == uses.end() || *next == step || *next == end_ ||
        IsMadeAgain(again, buffer, *next)) {
      return std::nullopt;
    }
    const Again made{writes_[buffer.index].front(), *next};
    return MayRun(made) ? std::optional(made) : std::nullopt;
  }

  // What runs again if another step does: what that reads, and was to be made later, is made as
  // early.
  std::vector<Again> With(std::vector<Again> again, const Again& another) const {
    for (const Buffer read : plan_.steps[another.step].reads) {
      const Steps uses = UsesWith(again, read);
      const auto next = std::upper_bound(uses.begin(), uses.end(), another.at);
      const bool is_used = next != uses.begin() && *std::prev(next) == another.at;
      if (is_used || next == uses.end() || !IsMadeAgain(again, read, *next)) continue;
      const auto later = std::find_if(again.begin(), again.end(), [&](const Again& each) {
        return each.at == *next && Writes(each, read);
      });
      const Again earlier{later->step, another.at};
      again.erase(later);
      again = With(std::move(again), earlier);
    }
    again.push_back(another);
    return again;
  }

  // For each step, the bytes of the arena that hold something.
  std::vector<int64_t> BytesAlive(const std::vector<Again>& again) const {
    std::vector<Steps> uses = uses_;
    std::vector<Steps> made_again(uses.size());
    for (const Again& each : again) {
      for (const Buffer touched : TouchedBy(each)) Add(each.at, &uses[touched.index]);
      for (const Buffer made : plan_.steps[each.step].writes) Add(each.at, &made_again[made.index]);
    }
    std::vector<int64_t> changes(end_ + 2, 0);
    for (size_t i = 0; i < uses.size(); ++i) {
      const Buffer buffer{static_cast<int>(i)};
      if (!IsInArena(buffer) || uses[i].empty()) continue;
      int first = uses[i].front();
      for (size_t use = 1; use <= uses[i].size(); ++use) {
        const bool ends =
            use == uses[i].size() ||
            std::binary_search(made_again[i].begin(), made_again[i].end(), uses[i][use]);
        if (!ends) continue;
        changes[first] += SizeOf(buffer);
        changes[uses[i][use - 1] + 1] -= SizeOf(buffer);
        if (use < uses[i].size()) first = uses[i][use];
      }
    }
    // One that takes the memory of another one, in the step that reads that last.
    std::vector<bool> is_taken(uses.size(), false);
    std::vector<bool> takes(uses.size(), false);
    for (const InPlace& pair : in_place_) {
      const Steps& of_written = uses[pair.written.index];
      const Steps& of_read = uses[pair.read.index];
      if (of_written.empty() || of_read.empty() || of_written.front() != of_read.back()) continue;
      if (takes[pair.written.index] || is_taken[pair.read.index]) continue;
      takes[pair.written.index] = is_taken[pair.read.index] = true;
      const int step = of_read.back();
      changes[step] -= SizeOf(pair.read);
      changes[step + 1] += SizeOf(pair.read);
    }
    std::partial_sum(changes.begin(), changes.end(), changes.begin());
    return changes;
  }

 private:
  using Steps = absl::InlinedVector<int, 4>;  // ascending

  static void Add(int step, Steps* steps) {
    const auto at = std::lower_bound(steps->begin(), steps->end(), step);
    if (at == steps->end() || *at != step) steps->insert(at, step);
  }

  bool IsInArena(Buffer buffer) const {
    return plan_.buffers[buffer.index].place == BufferInfo::Place::kArena;
  }

  std::vector<Buffer> TouchedBy(const Again& again) const {
    std::vector<Buffer> touched = plan_.steps[again.step].reads;
    const std::vector<Buffer>& writes = plan_.steps[again.step].writes;
    touched.insert(touched.end(), writes.begin(), writes.end());
    return touched;
  }

  bool Writes(const Again& again, Buffer buffer) const {
    const std::vector<Buffer>& writes = plan_.steps[again.step].writes;
    return std::find(writes.begin(), writes.end(), buffer) != writes.end();
  }

  bool IsMadeAgain(const std::vector<Again>& again, Buffer buffer, int at) const {
    return std::any_of(again.begin(), again.end(),
                       [&](const Again& each) { return each.at == at && Writes(each, buffer); });
  }

  Steps UsesWith(const std::vector<Again>& again, Buffer buffer) const {
    Steps uses = uses_[buffer.index];
    for (const Again& each : again) {
      for (const Buffer touched : TouchedBy(each)) {
        if (touched == buffer) Add(each.at, &uses);
      }
    }
    return uses;
  }

  // Whether what it reads can still be there, unchanged, and it writes nothing else.
  bool MayRun(const Again& again) const {
    const Step& step = plan_.steps[again.step];
    return step.is_repeatable &&
           std::all_of(step.writes.begin(), step.writes.end(),
                       [&](Buffer written) {
                         return IsInArena(written) && writes_[written.index].size() == 1;
                       }) &&
           std::all_of(step.reads.begin(), step.reads.end(), [&](Buffer read) {
             const Steps& writes = writes_[read.index];
             return std::none_of(writes.begin(), writes.end(), [&](int write) {
               return write >= again.step && write < again.at;
             });
           });
  }

  const Plan& plan_;
  const int end_;
  std::vector<Steps> uses_;    // of each buffer
  std::vector<Steps> writes_;  // to the memory of each buffer
  std::vector<InPlace> in_place_;
};

int64_t Most(const std::vector<int64_t>& bytes) {
  return *std::max_element(bytes.begin(), bytes.end());
}

// Of the arena as it would be placed for the steps.
int64_t BytesPlaced(const std::vector<InPlace>& in_place, const std::vector<Step>& steps,
                    const Plan& plan) {
  Plan trial;
  trial.buffers = plan.buffers;
  trial.fetches = plan.fetches;
  return PlaceBuffers(in_place, steps, BufferInfo::Place::kArena, &trial);
}

std::vector<Step> WithRepeated(std::vector<Again> again, const Plan& plan) {
  std::sort(again.begin(), again.end(), [](const Again& a, const Again& b) {
    return std::pair(a.at, a.step) < std::pair(b.at, b.step);
  });
  std::vector<Step> copies;
  for (const Again& each : again) {
    copies.push_back(plan.steps[each.step]);
    copies.back().is_again = true;
    absl::StrAppend(&copies.back().name, " again");
  }
  std::vector<Step> steps;
  steps.reserve(plan.steps.size() + copies.size());
  size_t next = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (; next < again.size() && again[next].at == static_cast<int>(i); ++next) {
      steps.push_back(std::move(copies[next]));
    }
    steps.push_back(plan.steps[i]);
  }
  return steps;
}

}  // namespace

void ComputeAgain(double part, const std::vector<InPlace>& in_place, Plan* plan) {
  std::vector<double> seconds;
  double left = 0;
  for (const Step& step : plan->steps) {
    seconds.push_back(SecondsOf(*plan, step));
    left += part * seconds.back();
  }
  const Timeline timeline(in_place, *plan);
  std::vector<Again> again;
  while (true) {
    const std::vector<int64_t> alive = timeline.BytesAlive(again);
    const int64_t most = Most(alive);
    const auto peak = static_cast<int>(std::find(alive.begin(), alive.end(), most) - alive.begin());
    // Of what can be free there, that which saves the most bytes in its time.
    std::optional<Again> best;
    double best_rate = 0;
    for (size_t i = 0; i < plan->buffers.size(); ++i) {
      const Buffer buffer{static_cast<int>(i)};
      if (timeline.SizeOf(buffer) < most / kSmallPart) continue;
      const std::optional<Again> another = timeline.FreeAt(buffer, peak, again);
      if (!another || seconds[another->step] > left) continue;
      const auto size = static_cast<double>(timeline.SizeOf(buffer));
      if (size / seconds[another->step] <= best_rate) continue;
      const std::vector<int64_t> then = timeline.BytesAlive(timeline.With(again, *another));
      const double rate = static_cast<double>(most - then[peak]) / seconds[another->step];
      if (rate <= best_rate || Most(then) > most) continue;
      best_rate = rate;
      best = another;
    }
    if (!best) break;
    again = timeline.With(std::move(again), *best);
    left -= seconds[best->step];
  }
  std::vector<Step> steps = WithRepeated(std::move(again), *plan);
  // Fewer bytes that hold something may lie in more memory.
  if (BytesPlaced(in_place, steps, *plan) < BytesPlaced(in_place, plan->steps, *plan)) {
    plan->steps = std::move(steps);
  }
}

}  // namespace fixpoint::executor
