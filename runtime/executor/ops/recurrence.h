// The steps of a recurrence (runtime/kernels/recurrence.h), which ops over padded steps and over
// sequences share.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RECURRENCE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RECURRENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/recurrence.h"

namespace fixpoint::executor {

// Floats of a buffer, from a place on.
struct BufferPart {
  Buffer buffer;
  int64_t offset = 0;
  int64_t size = 0;

  absl::Span<float> In(const StepContext& run) const {
    return run.Floats(buffer).subspan(offset, size);
  }
};
inline BufferPart WholeOf(Buffer buffer) { return {buffer, 0, buffer.size}; }

// What a recurrence reads besides the products with its input. What its cell does not have, or what
// is 0, is nothing.
struct RecurrenceOperands {
  Buffer weights;
  std::optional<BufferPart> bias;
  std::optional<BufferPart> inner_bias;
  std::optional<BufferPart> peepholes;
  std::optional<BufferPart> first_hidden;
  std::optional<BufferPart> first_cell;
  std::optional<Buffer> lengths;  // INT64
};

// A recurrence whose steps are added: what its way back needs.
struct PlannedRecurrence {
  kernels::RecurrenceShape shape;
  RecurrenceOperands operands;  // with zeros where there were none
  Buffer gates;
  Buffer hidden;
  std::optional<Buffer> cells;
  std::optional<Buffer> inner;
};

// Adds the steps that compute it from `sums`, in whose memory the gates may lie. The hidden states
// go to `hidden`, or to memory of their own. Error: that of kernels::Recurrence::Plan.
absl::StatusOr<PlannedRecurrence> AddRecurrence(OpPlanner& op, kernels::RecurrenceShape shape,
                                                RecurrenceOperands operands, Buffer sums,
                                                std::optional<Buffer> hidden = std::nullopt);

// What the way back gives.
struct RecurrenceBack {
  Buffer dsums;
  Buffer dproducts;  // may be `dsums`
  Buffer before;     // the hidden states before each step
  Buffer dhidden;    // of the first hidden state
  Buffer dcell;      // of the first cell, if there is one
  std::optional<Buffer> dpeepholes;
};

// Adds the steps of the way back. `dstates`: of the hidden states after each step; the others of
// the last states, where they are not 0. Error: that of kernels::RecurrenceGradient::Plan.
absl::StatusOr<RecurrenceBack> AddRecurrenceBack(OpPlanner& op, const PlannedRecurrence& forward,
                                                 Buffer dstates,
                                                 std::optional<BufferPart> dlast_hidden,
                                                 std::optional<BufferPart> dlast_cell);

// Adds the step that fills a buffer with 0.
void AddZeros(OpPlanner& op, Buffer buffer);
// The same for an output of floats or bytes that holds what the reference keeps for its own
// gradient kernel, where something reads it.
void DeferZeros(OpPlanner& op, absl::string_view slot, const TensorType& type);

// Adds the step that sums the columns of rows of `columns` floats.
absl::Status AddColumnSums(OpPlanner& op, Buffer from, int64_t columns, Buffer to,
                           std::string name);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RECURRENCE_H_
