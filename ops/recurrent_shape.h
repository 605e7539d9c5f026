// The shapes of recurrent networks, for the backends that run them.

#ifndef FIXPOINT_OPS_RECURRENT_SHAPE_H_
#define FIXPOINT_OPS_RECURRENT_SHAPE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "ops/op_form.h"

namespace fixpoint {

// The cell of each layer and direction of an rnn op.
enum class RnnMode { kLstm, kGru, kTanh, kRelu };

struct RnnShape {
  RnnMode mode = RnnMode::kTanh;
  int64_t steps = 1;
  int64_t batch = 1;
  int64_t inputs = 1;  // of layer 0
  int64_t width = 1;   // of a hidden state
  int layers = 1;
  int directions = 1;

  int gates() const { return mode == RnnMode::kLstm ? 4 : mode == RnnMode::kGru ? 3 : 1; }
  int64_t rows() const { return steps * batch; }
  int64_t InputsOf(int layer) const { return layer == 0 ? inputs : directions * width; }
  // Hidden states, and cells of an LSTM.
  int states() const { return mode == RnnMode::kLstm ? 2 : 1; }
  Dims state_dims() const { return {int64_t{layers} * directions, batch, width}; }
  Dims out_dims() const { return {steps, batch, directions * width}; }
  // What the reference keeps for its gradient kernel.
  Dims reserve_dims() const;

  // Arguments of WeightList. `pair` is layer * directions + direction.
  int weight_count() const { return 4 * layers * directions; }
  static int InputWeight(int pair) { return 2 * pair; }
  static int StateWeight(int pair) { return 2 * pair + 1; }
  int InputBias(int pair) const { return 2 * layers * directions + 2 * pair; }
  int StateBias(int pair) const { return InputBias(pair) + 1; }

  friend bool operator==(const RnnShape& a, const RnnShape& b) {
    return a.mode == b.mode && a.steps == b.steps && a.batch == b.batch && a.inputs == b.inputs &&
           a.width == b.width && a.layers == b.layers && a.directions == b.directions;
  }
};

// The shape of an op `rnn`, or of its gradient op, with an Input of those dims. Errors: mode,
// num_layers or the input have no meaning, or a state would be larger than any tensor
// (kInvalidArgument); `is_training` with dropout between layers (kUnimplemented).
absl::StatusOr<RnnShape> RnnShapeOf(const OpAttributes& attributes, DimsView input,
                                    bool is_training);
// Errors (kInvalidArgument): the inputs do not have the dims of the shape.
absl::Status CheckRnnInputs(const RnnShape& shape, absl::Span<const Dims> states,
                            absl::Span<const Dims> weights, const std::optional<Dims>& lengths);

// An op whose Input [rows, gates * D] holds the projections of its gates, side by side.
struct GatedShape {
  int64_t rows = 0;
  int64_t width = 1;  // D
};
// Errors (kInvalidArgument): Input is not [rows, gates * D], Weight not [D, gates * D], or Bias,
// where it is given, not of gates * D and `more_biases` * D more numbers.
absl::StatusOr<GatedShape> GatedShapeOf(int gates, DimsView input, DimsView weight,
                                        const std::optional<Dims>& bias, int more_biases = 0);

// Error (kInvalidArgument): the input of a slot has other dims.
absl::Status CheckStateDims(absl::string_view slot, DimsView dims, DimsView wanted);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_RECURRENT_SHAPE_H_
