// What a plan computes from parameters alone, if those do not change: packed weights, the factors
// of a batch norm, codes of weights. It is computed once, and executors that compute the same share
// it. And what the plan of a block computes that is the same in each turn of a loop: it is computed
// once in a run of the op.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_CONSTANTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_CONSTANTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor/plan.h"
#include "runtime/memory.h"

namespace fixpoint::executor {

// Turns steps that read only parameters and the results of other such steps into constant steps, in
// their order; results that the other steps or the fetches read become constants
// (BufferInfo::Place). REQUIRES: no buffer has a place in memory yet.
void SetConstantsApart(Plan* plan);

// The same in the plan of a block that is run again and again: its constant steps read neither the
// variables that it keeps nor `varying`, feeds that are others in each turn. All steps stay for an
// op of which one does something in each turn: is checked, shown, or draws random numbers.
void SetInvariantsApart(const std::vector<Buffer>& varying, Plan* plan);

// A constant. Its bytes do not change.
class Constant {
 public:
  // Somewhere in `memory`.
  Constant(std::shared_ptr<const Memory> memory, absl::Span<const uint8_t> bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}

  absl::Span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::shared_ptr<const Memory> memory_;
  absl::Span<const uint8_t> bytes_;
};

// Constants by how they were computed, as long as anybody has them.
class MadeConstants {
 public:
  // Null: there is none.
  std::shared_ptr<const Constant> Find(const std::string& recipe) const;
  void Add(const std::string& recipe, const std::shared_ptr<const Constant>& constant);

 private:
  absl::flat_hash_map<std::string, std::weak_ptr<const Constant>> by_recipe_;
  size_t most_ = 64;  // before those that nobody has are looked for
};

// The constants of executors; equal ones are kept once, as long as an executor has it. For any
// number of threads at once.
class ConstantStore {
 public:
  // Constants with those bytes of `memory`, in their order: those that executors already have, and
  // for the others that memory or, if they are a small part of it, less. Error: that of
  // AllocateMemory.
  absl::StatusOr<std::vector<std::shared_ptr<const Constant>>> Share(
      Memory memory, absl::Span<const absl::Span<const uint8_t>> computed);

  // What an executor computed by that recipe (recipes.h), which begins with what names the
  // parameters; null: there is none.
  std::shared_ptr<const Constant> FindMade(const std::string& recipe) const;
  void AddMade(const std::string& recipe, const std::shared_ptr<const Constant>& constant);

  // The bytes of all constants that executors have.
  int64_t bytes() const;

 private:
  using Alike = std::vector<std::weak_ptr<const Constant>>;

  static std::shared_ptr<const Constant> Find(absl::Span<const uint8_t> bytes, Alike* alike);

  mutable std::mutex mutex_;
  absl::flat_hash_map<size_t, Alike> by_hash_;
  // Of its own, so that who finds a constant waits for nobody who compares and copies others.
  mutable std::shared_mutex made_mutex_;
  MadeConstants made_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_CONSTANTS_H_
