// The sum with a residual that is held as codes. The floats that they stand for are not computed:
// each code is added by one fma, as the epilogues of lowered programs add it (ops/epilogue.h), so
// that training, test mode, and portable and lowered programs have the same bits.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIDUAL_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIDUAL_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

// Whether a sum adds the codes of that input: it is held as codes with one range, and the program
// declares both inputs with one shape. A value that is not planned yet does not count as codes.
bool MayAddCodes(const OpPlanner& sum, absl::string_view slot);

// The input of a sum whose codes are added: Y, or X if Y is not held as codes. Nothing if neither
// is.
std::optional<absl::string_view> FindAddedCodes(const OpPlanner& sum);

// Adds the step of that sum, and of the relu that alone reads it.
absl::Status PlanSumWithCodes(OpPlanner& op, absl::string_view slot_of_codes);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIDUAL_H_
