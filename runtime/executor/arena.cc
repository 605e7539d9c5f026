#include "runtime/executor/arena.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "runtime/executor/constants.h"

namespace fixpoint::executor {
namespace {

using Place = BufferInfo::Place;

// Steps, from the first to the last that touch a buffer.
struct Life {
  int first;
  int last;
};
// Several if a step computes it again.
using Lives = absl::InlinedVector<Life, 1>;

bool Overlap(const Lives& a, const Lives& b) {
  return std::any_of(a.begin(), a.end(), [&](const Life& x) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Life& y) { return x.first <= y.last && y.first <= x.last; });
  });
}

std::vector<Lives> LivesOf(const std::vector<Step>& steps, Place place, const Plan& plan) {
  std::vector<Lives> lives(plan.buffers.size());
  for (size_t i = 0; i < lives.size(); ++i) {
    const BufferInfo& info = plan.buffers[i];
    if (info.place == place && info.first_step >= 0) {
      lives[i].push_back({info.first_step, info.last_step});
    }
  }
  const auto touch = [&](Buffer buffer, int step, bool begins_anew) {
    if (plan.buffers[buffer.index].place != place) return;
    Lives& of_buffer = lives[buffer.index];
    if (of_buffer.empty() || begins_anew) of_buffer.push_back({step, step});
    of_buffer.back().last = step;
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const int step = static_cast<int>(i);
    for (const Buffer read : steps[i].reads) touch(read, step, false);
    for (const Buffer written : steps[i].writes) touch(written, step, steps[i].is_again);
  }
  const auto stay_until = [&](Buffer buffer, int step) {
    Lives& of_buffer = lives[buffer.index];
    if (!of_buffer.empty()) of_buffer.back().last = std::max(of_buffer.back().last, step);
  };
  for (const Plan::Fetch& fetch : plan.fetches) {
    for (const Buffer buffer : fetch.buffers()) {
      stay_until(buffer, static_cast<int>(steps.size()));
    }
  }
  // The check for finite values reads the dims of what a step writes.
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const std::optional<RunShape>& shape = plan.buffers[i].run_shape;
    if (shape && !lives[i].empty()) stay_until(shape->dims, lives[i].back().last);
  }
  return lives;
}

// Buffers that share one place, one after the other.
struct Slot {
  Lives lives;
  int64_t bytes;
  int64_t offset = -1;
  std::vector<int> buffers;
};

std::vector<Slot> MakeSlots(const std::vector<InPlace>& in_place, const Plan& plan,
                            const std::vector<Lives>& lives) {
  std::vector<Slot> slots;
  std::vector<int> slot_of(plan.buffers.size(), -1);
  std::vector<int> place_of(plan.buffers.size(), -1);  // the buffer whose place it may take
  for (const InPlace& pair : in_place) {
    const BufferInfo& written = plan.buffers[pair.written.index];
    const BufferInfo& read = plan.buffers[pair.read.index];
    const Lives& of_written = lives[pair.written.index];
    const Lives& of_read = lives[pair.read.index];
    if (of_written.size() == 1 && of_read.size() == 1 &&
        of_read.front().last == of_written.front().first &&
        Aligned(read.bytes()) == Aligned(written.bytes()) && place_of[pair.written.index] < 0) {
      place_of[pair.written.index] = pair.read.index;
    }
  }
  std::vector<int> by_first_step;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (!lives[i].empty()) by_first_step.push_back(static_cast<int>(i));
  }
  std::stable_sort(by_first_step.begin(), by_first_step.end(),
                   [&](int a, int b) { return lives[a].front().first < lives[b].front().first; });
  for (const int i : by_first_step) {
    const int shared = place_of[i] >= 0 ? slot_of[place_of[i]] : -1;
    // If a step writes several buffers that could take the place, the first one takes it.
    if (shared >= 0 && slots[shared].buffers.back() == place_of[i]) {
      slot_of[i] = shared;
      slots[shared].lives.back().last = lives[i].back().last;
      slots[shared].buffers.push_back(i);
    } else {
      slot_of[i] = static_cast<int>(slots.size());
      slots.push_back({lives[i], Aligned(plan.buffers[i].bytes()), -1, {i}});
    }
  }
  return slots;
}

}  // namespace

int64_t PlaceBuffers(const std::vector<InPlace>& in_place, const std::vector<Step>& steps,
                     Place place, Plan* plan) {
  const std::vector<Lives> lives = LivesOf(steps, place, *plan);
  for (size_t i = 0; i < lives.size(); ++i) {
    if (lives[i].empty()) continue;
    plan->buffers[i].first_step = lives[i].front().first;
    plan->buffers[i].last_step = lives[i].back().last;
  }
  std::vector<Slot> slots = MakeSlots(in_place, *plan, lives);
  int64_t bytes = 0;
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot& a, const Slot& b) { return a.bytes > b.bytes; });
  std::vector<const Slot*> placed;  // by offset
  for (Slot& slot : slots) {
    int64_t offset = 0;
    for (const Slot* other : placed) {
      if (!Overlap(slot.lives, other->lives)) continue;
      if (offset + slot.bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    slot.offset = offset;
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &slot,
                         [](const Slot* a, const Slot* b) { return a->offset < b->offset; }),
        &slot);
    bytes = std::max(bytes, offset + slot.bytes);
    for (const int i : slot.buffers) plan->buffers[i].offset = offset;
  }
  return bytes;
}

}  // namespace fixpoint::executor
