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
#include "runtime/executor/ops/array_contents.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/plan_builder.h"
#include "runtime/executor/tensor_array.h"

namespace fixpoint::executor {

// Attached to a value that is an array (PlanBuilder::Attach), and that has no elements. All values
// of one variable have one array.
struct HeldArray {
  // Which extents of its tensors may be less than in `most`.
  enum class Varying { kNothing, kRows, kExtents };

  std::shared_ptr<TensorArray> array;
  TensorType most;
  Varying varying = Varying::kNothing;
  std::vector<int64_t> most_offsets = {};  // of each level that its tensors have
  ArrayContents contents = {};

  // Whether the other has room for all that its tensors may be.
  bool FitsIn(const HeldArray& other) const;
  // Error (kUnimplemented): the tensors of the other are of another type or rank.
  absl::Status MakeRoomFor(const HeldArray& other);
};

// The type of values that are no tensors, such as arrays.
const TensorType& NoElements();

// The array that an input is. Error (kInvalidArgument): it is a tensor.
absl::StatusOr<const HeldArray*> ReadArray(const OpPlanner& op, absl::string_view slot);

// Whether a variable holds at `value` what earlier runs of a loop's block wrote, if they wrote
// anything: such an array is emptied where the loop begins. Null: the variable's first value.
bool IsCarriedByLoop(const PlanBuilder& builder, const Value* value);

// What is known of the array that a variable holds; null: it holds nothing yet. And says what that
// is, if the value is an array.
ArrayContents ContentsOf(const PlanBuilder& builder, const Value* value);

void SetContents(const Value& value, ArrayContents contents, PlanBuilder* builder);

// Declares that Out is an array with room for the tensors of `written`, and with its contents: the
// one that its variable holds or, if it `is_new`, another, which the op's step has to empty.
absl::StatusOr<HeldArray> WriteArray(OpPlanner& op, const HeldArray& written, bool* is_new);

// The input I, the place of a tensor in an array, and what it is in a run. Error of that
// (kInvalidArgument): no array is so long.
absl::StatusOr<Buffer> ReadPlace(OpPlanner& op);
absl::StatusOr<int64_t> PlaceIn(const StepContext& run, Buffer place);

// Adds an array to another one, tensor by tensor. Error (kInvalidArgument): tensors in one place
// have other extents. REQUIRES: the tensors are FP32.
absl::Status AddTo(const TensorArray& part, TensorArray* sum);

// Plans a sum of arrays, X, into an array, Out. Errors: kInvalidArgument: X holds a tensor;
// kUnimplemented: the tensors are not FP32, or are not of one rank.
absl::Status PlanSumOfArrays(OpPlanner& op);

// Adds a step that reads or writes an array, which is no buffer that other steps could be told
// from.
void AddArrayStep(OpPlanner& op, std::vector<Buffer> reads, std::vector<Buffer> writes,
                  std::function<absl::Status(const StepContext&)> run);

// Attaches to `as` in one plan what says that `value` of another is an array or a table, if it is.
void PassOnArray(const PlanBuilder& from, const Value& value, PlanBuilder* to, const Value& as);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_TENSOR_ARRAYS_H_
