#include "runtime/executor/constants.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "proto/base/status_macros.h"

namespace fixpoint::executor {
namespace {

// Which buffers and steps of a plan depend on buffers that vary.
class Varying {
 public:
  Varying(const Plan& plan, std::vector<bool> buffers, absl::flat_hash_set<const Op*> ops = {})
      : buffers_(std::move(buffers)), ops_(std::move(ops)) {
    bool changes = true;
    while (changes) {
      changes = false;
      for (const Step& step : plan.steps) {
        if (!Varies(step)) continue;
        for (const Buffer& buffer : step.writes) {
          changes = changes || !buffers_[buffer.index];
          buffers_[buffer.index] = true;
        }
      }
    }
  }

  bool Varies(const Step& step) const {
    return step.block != nullptr || step.in_each_run || step.reads.empty() ||
           ops_.contains(step.op) || AnyVaries(step.reads) || AnyVaries(step.writes);
  }

 private:
  bool AnyVaries(const std::vector<Buffer>& buffers) const {
    return std::any_of(buffers.begin(), buffers.end(),
                       [this](Buffer buffer) { return buffers_[buffer.index]; });
  }

  std::vector<bool> buffers_;
  const absl::flat_hash_set<const Op*> ops_;  // all of whose steps vary
};

// Feeds, and the tensors of variables that are written.
std::vector<bool> AllButParameters(const Plan& plan) {
  std::vector<int> tensor_of(plan.buffers.size());
  for (size_t i = 0; i < tensor_of.size(); ++i) tensor_of[i] = static_cast<int>(i);
  for (const Plan::InTensor& in : plan.in_tensors) tensor_of[in.buffer.index] = in.tensor.index;
  std::vector<bool> is_written(plan.buffers.size(), false);
  for (const Step& step : plan.steps) {
    for (const Buffer& buffer : step.writes) is_written[tensor_of[buffer.index]] = true;
  }
  std::vector<bool> vary(plan.buffers.size());
  for (size_t i = 0; i < vary.size(); ++i) {
    const BufferInfo::Place place = plan.buffers[i].place;
    vary[i] = place == BufferInfo::Place::kFeed ||
              (place == BufferInfo::Place::kScope && is_written[tensor_of[i]]);
  }
  return vary;
}

void SetApart(const Varying& varying, Plan* plan) {
  const auto first_constant =
      std::stable_partition(plan->steps.begin(), plan->steps.end(),
                            [&](const Step& step) { return varying.Varies(step); });
  plan->constant_steps.assign(std::make_move_iterator(first_constant),
                              std::make_move_iterator(plan->steps.end()));
  plan->steps.erase(first_constant, plan->steps.end());
  for (const Step& step : plan->constant_steps) {
    for (const Buffer& buffer : step.writes) {
      plan->buffers[buffer.index].place = BufferInfo::Place::kConstantScratch;
    }
  }
  const auto keep_alone = [&](Buffer buffer) {
    BufferInfo::Place& place = plan->buffers[buffer.index].place;
    if (place == BufferInfo::Place::kConstantScratch) place = BufferInfo::Place::kConstant;
  };
  // With what a run has decided of its shape, which a step may read besides.
  const auto keep = [&](Buffer buffer) {
    keep_alone(buffer);
    const std::optional<RunShape>& shape = plan->buffers[buffer.index].run_shape;
    if (!shape) return;
    for (const Buffer of_shape : shape->buffers()) keep_alone(of_shape);
  };
  for (const Step& step : plan->steps) {
    for (const Buffer& buffer : step.reads) keep(buffer);
  }
  for (const Plan::Fetch& fetch : plan->fetches) {
    for (const Buffer buffer : fetch.buffers()) keep(buffer);
  }
}

}  // namespace

void SetConstantsApart(Plan* plan) { SetApart(Varying(*plan, AllButParameters(*plan)), plan); }

void SetInvariantsApart(const std::vector<Buffer>& varying, Plan* plan) {
  std::vector<bool> vary(plan->buffers.size());
  for (size_t i = 0; i < vary.size(); ++i) {
    vary[i] = plan->buffers[i].place == BufferInfo::Place::kScope;
  }
  for (const Buffer buffer : varying) vary[buffer.index] = true;
  absl::flat_hash_set<const Op*> ops;
  for (const Step& step : plan->steps) {
    if (step.in_each_run) ops.insert(step.op);
  }
  SetApart(Varying(*plan, std::move(vary), std::move(ops)), plan);
}

std::shared_ptr<const Constant> MadeConstants::Find(const std::string& recipe) const {
  const auto found = by_recipe_.find(recipe);
  return found != by_recipe_.end() ? found->second.lock() : nullptr;
}

void MadeConstants::Add(const std::string& recipe,
                        const std::shared_ptr<const Constant>& constant) {
  if (by_recipe_.size() >= most_) {
    for (auto made = by_recipe_.begin(); made != by_recipe_.end();) {
      const auto next = std::next(made);
      if (made->second.expired()) by_recipe_.erase(made);
      made = next;
    }
    most_ = std::max(most_, 2 * by_recipe_.size());
  }
  by_recipe_[recipe] = constant;
}

// An equal constant that an executor already has; the memory of those without one is freed.
std::shared_ptr<const Constant> ConstantStore::Find(absl::Span<const uint8_t> bytes, Alike* alike) {
  alike->erase(std::remove_if(alike->begin(), alike->end(),
                              [](const auto& other) { return other.expired(); }),
               alike->end());
  for (const std::weak_ptr<const Constant>& weak : *alike) {
    std::shared_ptr<const Constant> other = weak.lock();
    if (other != nullptr && other->bytes() == bytes) return other;
  }
  return nullptr;
}

absl::StatusOr<std::vector<std::shared_ptr<const Constant>>> ConstantStore::Share(
    Memory memory, absl::Span<const absl::Span<const uint8_t>> computed) {
  std::vector<size_t> hashes;
  for (const absl::Span<const uint8_t> constant : computed) {
    hashes.push_back(absl::HashOf(constant));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t all_bytes = 0;
  int64_t new_bytes = 0;
  for (size_t i = 0; i < computed.size(); ++i) {
    const int64_t bytes = Aligned(static_cast<int64_t>(computed[i].size()));
    all_bytes += bytes;
    if (Find(computed[i], &by_hash_[hashes[i]]) == nullptr) new_bytes += bytes;
  }
  const auto computed_in = std::make_shared<const Memory>(std::move(memory));
  std::shared_ptr<const Memory> held = computed_in;
  uint8_t* moved_to = nullptr;
  if (2 * new_bytes < all_bytes) {
    ASSIGN_OR_RETURN(Memory smaller, AllocateMemory(new_bytes, "constants"));
    moved_to = smaller.get();
    held = std::make_shared<const Memory>(std::move(smaller));
  }
  std::vector<std::shared_ptr<const Constant>> shared;
  for (size_t i = 0; i < computed.size(); ++i) {
    Alike& alike = by_hash_[hashes[i]];
    shared.push_back(Find(computed[i], &alike));
    if (shared.back() != nullptr) continue;
    absl::Span<const uint8_t> bytes = computed[i];
    if (moved_to != nullptr) {
      std::copy(bytes.begin(), bytes.end(), moved_to);
      bytes = {moved_to, bytes.size()};
      moved_to += Aligned(static_cast<int64_t>(bytes.size()));
    }
    shared.back() = std::make_shared<const Constant>(held, bytes);
    alike.push_back(shared.back());
  }
  return shared;
}

std::shared_ptr<const Constant> ConstantStore::FindMade(const std::string& recipe) const {
  const std::shared_lock<std::shared_mutex> lock(made_mutex_);
  return made_.Find(recipe);
}

void ConstantStore::AddMade(const std::string& recipe,
                            const std::shared_ptr<const Constant>& constant) {
  const std::unique_lock<std::shared_mutex> lock(made_mutex_);
  made_.Add(recipe, constant);
}

int64_t ConstantStore::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t bytes = 0;
  for (const auto& [hash, alike] : by_hash_) {
    for (const std::weak_ptr<const Constant>& weak : alike) {
      if (const auto constant = weak.lock()) bytes += constant->bytes().size();
    }
  }
  return bytes;
}

}  // namespace fixpoint::executor
