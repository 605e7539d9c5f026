// Ranges for forms that have one for each tensor, by its name.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_RANGES_BY_VARIABLE_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_RANGES_BY_VARIABLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "transpiler/exchange/learned_ranges.h"

namespace fixpoint {

// One range for each variable, in the order given. Errors
// (kFailedPrecondition): those of CheckAllAreKept; a variable has two different ones.
absl::StatusOr<std::vector<const LearnedRange*>> RangesByVariable(
    const std::vector<LearnedRange>& ranges);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_RANGES_BY_VARIABLE_H_
