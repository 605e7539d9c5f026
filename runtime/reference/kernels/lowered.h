// What the ops of lowered programs that sum products of codes share.

#ifndef FIXPOINT_RUNTIME_REFERENCE_KERNELS_LOWERED_H_
#define FIXPOINT_RUNTIME_REFERENCE_KERNELS_LOWERED_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/epilogue.h"
#include "runtime/reference/array.h"
#include "runtime/reference/op_run.h"

namespace fixpoint::reference {

// The code of 0 that an attribute declares, for codes of a type. Error: it is not a code.
absl::StatusOr<float> ZeroPointOf(const OpRun& op, absl::string_view attribute,
                                  VarType::Type dtype);

// Error: the input is not codes of 8 bits.
absl::Status CheckCodes(const OpRun& op, absl::string_view slot);

// Errors: an input is neither such codes nor INT16; the number of scales is neither 1 nor that of
// the channels; the bias has another size.
absl::Status CheckSums(const OpRun& op, absl::string_view input, absl::string_view weights,
                       int64_t channels);

// Error: the bias holds integers that may not be added to a product (ops/bias_codes.h).
absl::Status CheckBias(const OpRun& op);

// What is stored for results in float: each after the epilogue, whose stages have these operands or
// null. REQUIRES: those are as large as the results, or have an element for each channel.
Array StoreAfter(const Epilogue& epilogue, absl::Span<const Array* const> operands,
                 VarType::Type dtype, int channel_axis, Array numbers);

// What the op stores for a result in float: that of its epilogue. Errors: those of its attributes;
// an operand is absent or has another size.
absl::StatusOr<Array> StoreNumbers(const OpRun& op, Array numbers, int channel_axis);

// What it stores for its sums, which are integers: each with the bias of its channel, times the
// scale, after the epilogue. Errors: the same.
absl::StatusOr<Array> StoreSums(const OpRun& op, Array sums, int channel_axis);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_RUNTIME_REFERENCE_KERNELS_LOWERED_H_
