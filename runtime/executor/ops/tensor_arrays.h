// What plans know of arrays of tensors.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_TENSOR_ARRAYS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_TENSOR_ARRAYS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "proto/program/program_fwd.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/plan_builder.h"
#include "runtime/executor/tensor_array.h"

namespace fixpoint::executor {

// Attached to a value that is an array (PlanBuilder::Attach), and that has no elements. All values
// of one variable have one array.
struct HeldArray {
  std::shared_ptr<TensorArray> array;
  TensorType most;           // what its tensors are, but for having less rows
  int64_t most_offsets = 0;  // 0: no sequences
};

// Attached to a value that lod_rank_table writes, by shared pointer.
struct RankTable {
  struct Ranked {
    int64_t sequence;
    int64_t begin;  // row
    int64_t length;
  };
  std::vector<Ranked> sequences;  // longest first
  int64_t rows = 0;

  int64_t CountLongerThan(int64_t step) const;
  int64_t steps() const { return sequences.empty() ? 0 : sequences.front().length; }
};

// Attaches to `as` in one plan what says that `value` of another is an array or a table, if it is.
void PassOnArray(const PlanBuilder& from, const Value& value, PlanBuilder* to, const Value& as);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_TENSOR_ARRAYS_H_
