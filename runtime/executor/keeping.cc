#include "runtime/executor/keeping.h"

#include <algorithm>

namespace fixpoint::executor {
namespace {

constexpr int kNever = -1;

// Steps, by their number.
struct Uses {
  int first_write = kNever;
  int last_read = kNever;
};

std::vector<Uses> UsesOfBuffers(const Plan& plan) {
  std::vector<Uses> uses(plan.buffers.size());
  const int end = static_cast<int>(plan.steps.size());
  for (int i = 0; i < end; ++i) {
    for (const Buffer& read : plan.steps[i].reads) uses[read.index].last_read = i;
    for (const Buffer& written : plan.steps[i].writes) {
      if (uses[written.index].first_write == kNever) uses[written.index].first_write = i;
    }
  }
  for (const Plan::Fetch& fetch : plan.fetches) {
    for (const Buffer buffer : fetch.buffers()) uses[buffer.index].last_read = end;
  }
  return uses;
}

}  // namespace

std::vector<Kept> KeepInPlace(const std::vector<Kept>& kept, const std::vector<InPlace>& in_place,
                              Plan* plan) {
  const std::vector<Uses> uses = UsesOfBuffers(*plan);
  const auto may_lie_in = [&](Buffer written, Buffer read) {
    return std::any_of(in_place.begin(), in_place.end(), [&](const InPlace& pair) {
      return pair.written == written && pair.read == read;
    });
  };
  std::vector<Kept> others;
  for (const Kept& value : kept) {
    BufferInfo& info = plan->buffers[value.buffer.index];
    const Uses& tensor = uses[value.tensor.index];
    const int written = uses[value.buffer.index].first_write;
    const bool is_free = tensor.last_read < written ||
                         (tensor.last_read == written && may_lie_in(value.buffer, value.tensor));
    // Feeds, and values that are already in a tensor, stay there.
    if (info.place == BufferInfo::Place::kArena && written != kNever && is_free &&
        tensor.first_write == kNever) {
      info.place = BufferInfo::Place::kScope;
      plan->in_tensors.push_back({value.buffer, value.tensor});
    } else {
      others.push_back(value);
    }
  }
  return others;
}

}  // namespace fixpoint::executor
