// A recurrence (recurrence.h) whose products with W are of codes, of the state and of W, exact.

#ifndef FIXPOINT_RUNTIME_KERNELS_CODED_RECURRENCE_H_
#define FIXPOINT_RUNTIME_KERNELS_CODED_RECURRENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/recurrence.h"

namespace fixpoint::kernels {

// Each sum is multiplied by the scale of its column; all else is as in a Recurrence. Not for two
// threads at once.
class CodedRecurrence : public PacksWeights<int8_t> {
 public:
  // Errors: those of PlanIntegerProduct and WideSums::Plan. REQUIRES: a step, a row in each, and
  // state bits for which StateSumsFit (ops/recurrent_state.h).
  static absl::StatusOr<std::unique_ptr<CodedRecurrence>> Plan(const RecurrenceShape& shape);

  virtual int64_t scratch_size() const = 0;
  // scales [G].
  virtual void Run(absl::Span<const float> sums, absl::Span<const uint8_t> weights,
                   absl::Span<const float> scales, const RecurrenceInputs& inputs,
                   const RecurrenceStates& states, absl::Span<float> scratch) = 0;

  virtual std::string implementation() const = 0;
  // Of products of bytes (integer_sums.h); nothing: codes have more bits.
  virtual std::optional<double> beside_floats() const = 0;
};

// The product of rows of states, of all steps, with a matrix that is [columns, inner], of codes.
class StateProduct : public PacksWeights<int8_t> {
 public:
  // Errors and REQUIRES: likewise.
  static absl::StatusOr<std::unique_ptr<StateProduct>> Plan(int state_bits, int64_t rows,
                                                            int64_t inner, int64_t columns);

  // The first rows; as many as were planned.
  virtual void Run(const float* states, absl::Span<const uint8_t> weights,
                   absl::Span<const float> scales, float* out) = 0;

  virtual std::string implementation() const = 0;
  virtual std::optional<double> beside_floats() const = 0;  // likewise
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_CODED_RECURRENCE_H_
