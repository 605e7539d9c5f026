// A recurrent network over many steps: in each, a product with the state and a cell. The products
// with the input are computed before, of all steps at once.

#ifndef FIXPOINT_RUNTIME_KERNELS_RECURRENCE_H_
#define FIXPOINT_RUNTIME_KERNELS_RECURRENCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/product.h"
#include "runtime/kernels/recurrent_cells.h"

namespace fixpoint::kernels {

struct RecurrenceShape {
  RecurrentCell cell;
  // How many rows take each step: not more than took the one before. The rows of all steps lie one
  // step after the other; those that take a step are the first of those that took the one before.
  std::vector<int64_t> rows;
  bool is_reversed = false;  // from the last step to the first. REQUIRES: equal numbers of rows
  // W is given as [columns, width], not as [width, columns]. REQUIRES: not for kGru, whose W is
  // [width, 2 * width], and after it [width, width].
  bool is_transposed = false;
  // The bits of the codes to which the state is rounded where W multiplies it (ops/state_codes.h);
  // 0: it is not.
  int state_bits = 0;

  int64_t batch() const { return rows.front(); }
  int64_t all_rows() const;
  int64_t weight_size() const { return cell.columns() * cell.width; }

  friend bool operator==(const RecurrenceShape& a, const RecurrenceShape& b) {
    return a.cell == b.cell && a.rows == b.rows && a.is_reversed == b.is_reversed &&
           a.is_transposed == b.is_transposed && a.state_bits == b.state_bits;
  }
};

// With R all rows, N the batch, D the width and G the columns.
struct RecurrenceInputs {
  absl::Span<const float> bias;          // [G]
  absl::Span<const float> inner_bias;    // [D], of kResetAfterGru
  absl::Span<const float> peepholes;     // [3, D], where the cell has some
  absl::Span<const float> first_hidden;  // [N, D]
  absl::Span<const float> first_cell;    // [N, D], of a cell that has one
  // [N]: how many steps each row takes, where it is not all of them. The others leave its state.
  absl::Span<const int64_t> lengths;
};

// What the steps give, all [R, ...]; what the cell does not have is empty.
struct RecurrenceStates {
  absl::Span<float> gates;   // [R, G]: after their functions
  absl::Span<float> hidden;  // [R, D]
  absl::Span<float> cells;   // [R, D]
  absl::Span<float> inner;   // [R, D]: what a GRU keeps
};

struct RecurrenceGradients {
  absl::Span<const float> dhidden;  // [R, D]: of the states after each step, as outputs
  absl::Span<float> dlast;          // [N, D]: of the last hidden state, then of the first one
  absl::Span<float> dcell;          // [N, D]: likewise
  absl::Span<float> dsums;          // [R, G]
  absl::Span<float> dproducts;      // [R, G], of kResetAfterGru, whose bias is inside
  absl::Span<float> before;         // [R, D]: the hidden state before each step, as W read it
  absl::Span<float> dpeepholes;     // [R, 3, D]: the terms of their gradient
};

// Not for two threads at once, as the way back.
class Recurrence : public PacksWeights<float> {
 public:
  // Errors: those of Product::Plan. REQUIRES: a step, and a row in each.
  static absl::StatusOr<std::unique_ptr<Recurrence>> Plan(const RecurrenceShape& shape);

  // The floats that a run works in.
  virtual int64_t scratch_size() const = 0;
  // sums [R, G]; `states.gates` may be it. REQUIRES: sizes of the shape; `weights` are packed.
  virtual void Run(absl::Span<const float> sums, absl::Span<const uint8_t> weights,
                   const RecurrenceInputs& inputs, const RecurrenceStates& states,
                   absl::Span<float> scratch) = 0;

  // That of the products with the state of the whole batch.
  virtual std::string implementation() const = 0;
};

// The way back, whose products are with W^T.
class RecurrenceGradient : public PacksWeights<float> {
 public:
  static absl::StatusOr<std::unique_ptr<RecurrenceGradient>> Plan(const RecurrenceShape& shape);

  virtual int64_t scratch_size() const = 0;
  virtual void Run(absl::Span<const uint8_t> weights, const RecurrenceInputs& inputs,
                   const RecurrenceStates& states, const RecurrenceGradients& gradients,
                   absl::Span<float> scratch) = 0;

  virtual std::string implementation() const = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_RECURRENCE_H_
