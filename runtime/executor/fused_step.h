// The loops of several steps as one step (fusion.h).

#ifndef FIXPOINT_RUNTIME_EXECUTOR_FUSED_STEP_H_
#define FIXPOINT_RUNTIME_EXECUTOR_FUSED_STEP_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/fused_loops.h"

namespace fixpoint::executor {

// Whether a loop reads a tensor that has an element for each of the loop's.
inline bool IsAtPlace(const ElementLoop& loop, const ElementLoop::Operand& operand) {
  return operand.repetition.count == loop.size;
}

class FusedStep {
 public:
  // `is_wanted(buffer)`: whether anything else reads it. REQUIRES: the steps are nothing but loops
  // over as many elements, as many as FusedLoops takes.
  FusedStep(const std::vector<Step>& steps, const Plan& plan,
            const std::function<bool(Buffer)>& is_wanted);

  // REQUIRES: it was not called before.
  Step TakeStep() { return std::move(step_); }

  // Adds the numbers of the buffers that the step writes.
  void AddWritten(absl::flat_hash_set<int>* written) const;

  // The buffers that may lie in the memory of others: those that are written after the last loop
  // that reads these, or by that loop, if `before` has the pair (the written one first).
  std::vector<InPlace> FindInPlace(const absl::flat_hash_set<std::pair<int, int>>& before) const;

 private:
  static constexpr int kNever = -1;

  // What the loops do with a buffer; loops by their number.
  struct Tensor {
    Buffer buffer;
    int first_write = kNever;
    int first_read = kNever;
    int last_read = kNever;
    bool is_folded = false;  // what is written are terms that are folded
    bool repeats = false;    // where it is read
    bool is_held = true;

    // Whether it holds something before.
    bool is_given() const {
      return first_read != kNever && (first_write == kNever || first_read <= first_write);
    }
    bool is_made_here() const { return first_write != kNever && !is_given(); }
    bool is_written() const { return is_held && first_write != kNever; }
  };

  void Add(const ElementLoop& loop);
  int IndexOf(Buffer buffer);
  void MakeRun(int64_t size);
  int64_t BytesOf(const Tensor& tensor) const { return plan_.buffers[tensor.buffer.index].bytes(); }

  const Plan& plan_;
  Step step_;
  std::vector<Tensor> tensors_;
  absl::flat_hash_map<int, int> indices_;  // by buffer
  std::vector<kernels::FusedLoop> loops_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_FUSED_STEP_H_
