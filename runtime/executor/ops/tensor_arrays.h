// What plans know of arrays of tensors.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_TENSOR_ARRAYS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_TENSOR_ARRAYS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/plan_builder.h"
#include "runtime/executor/tensor_array.h"

namespace fixpoint::executor {

// Attached to a value that is an array (PlanBuilder::Attach), and that has no elements. All values
// of one variable have one array.
struct HeldArray {
  std::shared_ptr<TensorArray> array;
  TensorType most;                         // what its tensors are, but for having less rows
  std::vector<int64_t> most_offsets = {};  // of each level that its tensors have

  // Whether no tensor is larger than those of the other.
  bool FitsIn(const HeldArray& other) const;
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

// The type of values that are no tensors, such as arrays.
const TensorType& NoElements();

// The array that an input is. Error (kInvalidArgument): it is a tensor.
absl::StatusOr<const HeldArray*> ReadArray(const OpPlanner& op, absl::string_view slot);

// Adds an array to another one, tensor by tensor. Error (kInvalidArgument): tensors in one place
// have other extents. REQUIRES: the tensors are FP32.
absl::Status AddTo(const TensorArray& part, TensorArray* sum);

// Plans a sum of arrays, X, into an array, Out. Errors: kInvalidArgument: X holds a tensor;
// kUnimplemented: the tensors are not FP32, or differ in more than their rows.
absl::Status PlanSumOfArrays(OpPlanner& op);

// Error: a tensor of another type than the array's others, which have `most` but for their rows.
absl::Status CheckFits(const TensorType& type, const TensorType& most);

// Adds a step that reads or writes an array, which is no buffer that other steps could be told
// from.
void AddArrayStep(OpPlanner& op, std::vector<Buffer> reads, std::vector<Buffer> writes,
                  std::function<absl::Status(const StepContext&)> run);

// Attaches to `as` in one plan what says that `value` of another is an array or a table, if it is.
void PassOnArray(const PlanBuilder& from, const Value& value, PlanBuilder* to, const Value& as);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_TENSOR_ARRAYS_H_
