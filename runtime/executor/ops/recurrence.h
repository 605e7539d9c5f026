// The steps of a recurrence (runtime/kernels/recurrence.h), which ops over padded steps and over
// sequences share.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RECURRENCE_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RECURRENCE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/executor/op_planner.h"
#include "runtime/executor/plan_builder.h"
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

// Codes of weights, INT8, and what the sums of their products are multiplied by, FP32, one for each
// column.
struct WeightCodes {
  Buffer codes;
  Buffer scales;
};

// The codes that the floats of an input stand for: INT8 without a zero point, with one range or, if
// `axis` is not negative, one for each entry of that axis. Nothing if they are not held so.
std::optional<Codes> FindWeightCodes(const OpPlanner& op, absl::string_view slot, int index,
                                     int axis);

// What is multiplied by weights: a step in a run, and what is read for it.
struct InputStep {
  std::vector<Buffer> reads;
  std::function<float(const StepContext&)> in;
};
// The step of the codes of a state (ops/state_codes.h), which is known when planned.
InputStep StepOfStates(int bits);
// Adds the step that computes their scales: the step of the input times that of each column.
WeightCodes AddScales(OpPlanner& op, const Codes& weights, int64_t columns, const InputStep& step);
// Reads the weights of a lowered program: argument `index`, with the scales `scales_index`. Errors:
// the codes are not INT8, or the scales not FP32, one for each column.
absl::StatusOr<WeightCodes> ReadLoweredWeights(OpPlanner& op, absl::string_view slot, int index,
                                               int scales_index, int64_t columns);

// The floats that the codes of states stand for.
Buffer AddRoundedStates(OpPlanner& op, int bits, Buffer states);

// What a recurrence reads besides the products with its input. What its cell does not have, or what
// is 0, is nothing.
struct RecurrenceOperands {
  // As floats, which only the way back reads where there are codes.
  std::optional<Buffer> weights;
  std::optional<WeightCodes> codes;
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
// go to `hidden`, or to memory of their own. Errors: those of kernels::Recurrence::Plan, or of
// kernels::CodedRecurrence::Plan for codes.
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
// REQUIRES: the operands have the weights as floats.
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
