// What an op that runs a block keeps of each run for the op that runs the gradient block. It keeps
// its memory from run to run of the program.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_KEPT_RUNS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_KEPT_RUNS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "proto/program/program_fwd.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/tensor_array.h"

namespace fixpoint::executor {

class KeptRuns {
 public:
  struct Run {
    std::vector<uint8_t> bytes;       // of tensors, one after the other
    std::vector<TensorArray> arrays;  // of the block itself
    std::vector<KeptRuns> inner;      // of ops of the block
  };

  void Clear() { size_ = 0; }
  size_t size() const { return size_; }
  // One more, with what an earlier one of that number held.
  Run& Add() {
    if (size_ == runs_.size()) runs_.emplace_back();
    return runs_[size_++];
  }
  Run& operator[](size_t i) { return runs_[i]; }

 private:
  std::deque<Run> runs_;
  size_t size_ = 0;
};

struct HeldRuns;

// A value of the block of which each run is kept: a tensor, an array of tensors, or the kept runs
// of an inner op.
struct KeptValue {
  // Bytes of a run, and the buffer in the block's plan that they are copied from.
  struct Part {
    Buffer buffer;
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  const Value* value = nullptr;
  bool at_begin = false;  // what it holds when the run begins, not when it ends
  GivenType type;
  Part elements;
  std::optional<Part> dims;   // RunShape
  std::vector<Part> offsets;  // of each level
  std::optional<Part> is_set;
  const Op* decides = nullptr;  // the others of RunShape
  bool only_rows = true;
  std::optional<HeldArray> array;
  std::shared_ptr<const HeldRuns> inner;
  size_t place = 0;  // in Run::arrays or Run::inner
};

// Attached to the value that stands for the kept runs (PlanBuilder::Attach), by shared pointer.
struct HeldRuns {
  std::shared_ptr<KeptRuns> runs = std::make_shared<KeptRuns>();
  std::vector<KeptValue> values;
  int64_t bytes = 0;  // of the tensors of a run
  size_t arrays = 0;
  size_t inner = 0;
};

// Attached to a value of a block whose elements are read when a run of the block has ended.
struct ReadAtEnd {};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_KEPT_RUNS_H_
