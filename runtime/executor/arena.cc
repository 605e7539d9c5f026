#include "runtime/executor/arena.h"

#include <algorithm>
#include <numeric>

#include "runtime/executor/constants.h"

namespace fixpoint::executor {
namespace {

using Place = BufferInfo::Place;

void FindLives(const std::vector<Step>& steps, Place place, Plan* plan) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    for (const std::vector<Buffer>* buffers : {&step.reads, &step.writes}) {
      for (const Buffer& buffer : *buffers) {
        BufferInfo& info = plan->buffers[buffer.index];
        if (info.place != place) continue;
        if (info.first_step < 0) info.first_step = static_cast<int>(i);
        info.last_step = static_cast<int>(i);
      }
    }
  }
  for (const Plan::Fetch& fetch : plan->fetches) {
    for (const Buffer buffer : fetch.buffers()) {
      BufferInfo& info = plan->buffers[buffer.index];
      if (info.place == place) info.last_step = static_cast<int>(steps.size());
    }
  }
  // The check for finite values reads the dims of what a step writes.
  for (size_t i = 0; i < plan->buffers.size(); ++i) {
    const std::optional<RunShape>& shape = plan->buffers[i].run_shape;
    if (!shape || plan->buffers[i].place != place) continue;
    BufferInfo& dims = plan->buffers[shape->dims.index];
    if (dims.place == place) dims.last_step = std::max(dims.last_step, plan->buffers[i].last_step);
  }
}

// Buffers that share one place, one after the other.
struct Slot {
  int first_step;
  int last_step;
  int64_t bytes;
  int64_t offset = -1;
  std::vector<int> buffers;
};

bool Overlap(const Slot& a, const Slot& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

std::vector<Slot> MakeSlots(const std::vector<InPlace>& in_place, Place place, const Plan& plan) {
  std::vector<Slot> slots;
  std::vector<int> slot_of(plan.buffers.size(), -1);
  std::vector<int> place_of(plan.buffers.size(), -1);  // the buffer whose place it may take
  for (const InPlace& pair : in_place) {
    const BufferInfo& written = plan.buffers[pair.written.index];
    const BufferInfo& read = plan.buffers[pair.read.index];
    if (read.place == place && written.place == place && read.last_step == written.first_step &&
        Aligned(read.bytes()) == Aligned(written.bytes()) && place_of[pair.written.index] < 0) {
      place_of[pair.written.index] = pair.read.index;
    }
  }
  std::vector<int> by_first_step(plan.buffers.size());
  std::iota(by_first_step.begin(), by_first_step.end(), 0);
  std::stable_sort(by_first_step.begin(), by_first_step.end(), [&](int a, int b) {
    return plan.buffers[a].first_step < plan.buffers[b].first_step;
  });
  for (const int i : by_first_step) {
    const BufferInfo& info = plan.buffers[i];
    if (info.place != place || info.first_step < 0) continue;
    const int shared = place_of[i] >= 0 ? slot_of[place_of[i]] : -1;
    // If a step writes several buffers that could take the place, the first one takes it.
    if (shared >= 0 && slots[shared].buffers.back() == place_of[i]) {
      slot_of[i] = shared;
      slots[shared].last_step = info.last_step;
      slots[shared].buffers.push_back(i);
    } else {
      slot_of[i] = static_cast<int>(slots.size());
      slots.push_back({info.first_step, info.last_step, Aligned(info.bytes()), -1, {i}});
    }
  }
  return slots;
}

}  // namespace

int64_t PlaceBuffers(const std::vector<InPlace>& in_place, const std::vector<Step>& steps,
                     Place place, Plan* plan) {
  FindLives(steps, place, plan);
  std::vector<Slot> slots = MakeSlots(in_place, place, *plan);
  int64_t bytes = 0;
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot& a, const Slot& b) { return a.bytes > b.bytes; });
  std::vector<const Slot*> placed;  // by offset
  for (Slot& slot : slots) {
    int64_t offset = 0;
    for (const Slot* other : placed) {
      if (!Overlap(slot, *other)) continue;
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
