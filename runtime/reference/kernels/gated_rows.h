// What recurrent ops over sequences read and write: rows of gates, and states by sequence.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_GATED_ROWS_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_GATED_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/reference/array.h"
#include "runtime/reference/kernels/recurrence.h"
#include "runtime/reference/op_run.h"

namespace fixpoint::reference {

// The rows of each sequence, in the order of its steps.
using Paths = std::vector<std::vector<int64_t>>;
absl::StatusOr<Paths> PathsOf(const OpRun& op, const char* slot = "Input");

// The projections with the bias, if there is one, which may hold more numbers after it.
Numbers BiasedInput(const Array& input, const Array* bias);

// Error (kInvalidArgument): a state before the first step is not a row for each sequence.
absl::Status CheckFirstState(const OpRun& op, const char* slot, const Paths& paths, int64_t width);

// Does nothing without an array.
void ReadRow(const Array* array, int64_t row, Numbers* numbers);
void WriteRow(const Numbers& numbers, int64_t row, Array* array);

// The sums of columns, in the first places of an array like `bias`.
Array BiasGradient(const Array& dinput, const Array& bias);

// Of an lstm over sequences: its functions, where its gates are, and the numbers of Bias after
// those of the gates.
absl::StatusOr<LstmCell::Functions> FunctionsOf(const OpRun& op);
constexpr LstmCell::Places kLstmPlaces = {1, 2, 0, 3};
Numbers PeepholesOf(const OpRun& op, int64_t width);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_GATED_ROWS_H_
