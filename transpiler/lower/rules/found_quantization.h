// How an op of a portable program makes codes that a lowered one holds as integers.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_FOUND_QUANTIZATION_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_FOUND_QUANTIZATION_H_

#include <optional>

#include "absl/status/statusor.h"
#include "ops/codes/integer_reasons.h"
#include "proto/program/program_fwd.h"
#include "transpiler/lower/rules/lowering.h"

namespace fixpoint {

// Nothing where integers do not hold its codes, or it is no op that quantizes; `reason` then says
// why. Errors: those of Lowering::FindParameter and CheckRanges; (kInvalidArgument): a step is not
// above 0, or a zero point is no code.
absl::StatusOr<std::optional<Quantization>> FindQuantization(const Op& op, Lowering& lowering,
                                                             IntegerReason* reason);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_FOUND_QUANTIZATION_H_
