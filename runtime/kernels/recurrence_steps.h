// The steps of a recurrence (recurrence.h), whatever computes its products.

#ifndef FIXPOINT_RUNTIME_KERNELS_RECURRENCE_STEPS_H_
#define FIXPOINT_RUNTIME_KERNELS_RECURRENCE_STEPS_H_

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/recurrence.h"
#include "runtime/kernels/recurrent_cells.h"

namespace fixpoint::kernels {

inline bool IsGru(const RecurrenceShape& shape) {
  return shape.cell.type == RecurrentCell::Type::kGru;
}

inline void CheckSteps(const RecurrenceShape& shape) {
  CHECK(!shape.rows.empty() && shape.rows.back() > 0);
  CHECK(std::is_sorted(shape.rows.rbegin(), shape.rows.rend()));
}

// Where the steps lie, in the order in which they are taken.
class Steps {
 public:
  explicit Steps(const RecurrenceShape& shape) : shape_(shape) {
    int64_t offset = 0;
    for (const int64_t rows : shape.rows) {
      offsets_.push_back(offset);
      offset += rows;
    }
  }

  const RecurrenceShape& shape() const { return shape_; }
  size_t count() const { return offsets_.size(); }
  int64_t At(size_t i) const {
    return static_cast<int64_t>(shape_.is_reversed ? count() - 1 - i : i);
  }
  // The first row of the i-th step.
  int64_t OffsetOf(size_t i) const { return offsets_[At(i)]; }
  // What the states of a step's rows are before it: those of the step before, of which its rows are
  // the first, or those before all of them.
  const float* Before(size_t i, absl::Span<const float> first, absl::Span<float> after) const {
    return i == 0 ? first.data() : FromRow(after, OffsetOf(i - 1));
  }
  // A row of `width` floats. Null of what the cell does not have.
  float* FromRow(absl::Span<float> values, int64_t row) const {
    return values.empty() ? nullptr : values.data() + row * shape_.cell.width;
  }
  int64_t scratch_size() const {
    return shape_.batch() * (2 * shape_.cell.width + shape_.cell.columns());
  }

 private:
  const RecurrenceShape shape_;
  std::vector<int64_t> offsets_;  // in rows
};

// Takes all steps. first(rows, x, out) is the product of rows of the state with W, second(...) that
// of what a GRU has reset with the second matrix.
template <typename First, typename Second>
void RunSteps(const Steps& steps, absl::Span<const float> sums, const RecurrenceInputs& inputs,
              const RecurrenceStates& states, absl::Span<float> scratch, First first,
              Second second) {
  const RecurrenceShape& shape = steps.shape();
  const RecurrentCell& cell = shape.cell;
  CHECK_EQ(static_cast<int64_t>(sums.size()), shape.all_rows() * cell.columns());
  CHECK_EQ(static_cast<int64_t>(scratch.size()), steps.scratch_size());
  float* const hidden = scratch.data();
  float* const reset = hidden + shape.batch() * cell.width;
  float* const products = reset + shape.batch() * cell.width;
  std::copy(inputs.first_hidden.begin(), inputs.first_hidden.end(), hidden);
  for (size_t i = 0; i < steps.count(); ++i) {
    const int64_t offset = steps.OffsetOf(i);
    CellStep step;
    step.step = steps.At(i);
    step.rows = shape.rows[step.step];
    step.lengths = inputs.lengths.data();
    step.sums = sums.data() + offset * cell.columns();
    step.products = products;
    step.bias = inputs.bias.data();
    step.inner_bias = inputs.inner_bias.data();
    step.peepholes = inputs.peepholes.data();
    step.hidden = hidden;
    step.cell_before = steps.Before(i, inputs.first_cell, states.cells);
    step.gates = states.gates.data() + offset * cell.columns();
    step.states = steps.FromRow(states.hidden, offset);
    step.cells = steps.FromRow(states.cells, offset);
    step.inner = steps.FromRow(states.inner, offset);
    step.reset = reset;
    first(step.rows, hidden, products);
    if (!IsGru(shape)) {
      RunCell(cell, step);
      continue;
    }
    RunGruGates(cell, step);
    second(step.rows, reset, products);
    RunGruState(cell, step, products);
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_RECURRENCE_STEPS_H_
