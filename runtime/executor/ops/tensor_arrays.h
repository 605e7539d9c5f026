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

// The type of values that are no tensors, such as arrays.
const TensorType& NoElements();

// The array that an input is. Error (kInvalidArgument): it is a tensor.
absl::StatusOr<const HeldArray*> ReadArray(const OpPlanner& op, absl::string_view slot);

// Declares that Out is an array with such a tensor: the one that its variable holds or, if it
// `is_new`, another, which the op's step has to empty.
absl::StatusOr<HeldArray> WriteArray(OpPlanner& op, const TensorType& type,
                                     const std::vector<int64_t>& most_offsets, bool* is_new);

// The input I, the place of a tensor in an array, and what it is in a run. Error of that
// (kInvalidArgument): no array is so long.
absl::StatusOr<Buffer> ReadPlace(OpPlanner& op);
absl::StatusOr<int64_t> PlaceIn(const StepContext& run, Buffer place);

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
