// The section `where` of a pattern from its text.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_CONDITION_READER_H_
#define FIXPOINT_TRANSPILER_PATTERNS_CONDITION_READER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/text/sectioned_text.h"
#include "transpiler/patterns/pattern_condition.h"
#include "transpiler/patterns/sum_reader.h"

namespace fixpoint {

// More than anybody writes.
inline constexpr int kMostConditions = 64;

// Errors (kInvalidArgument) with file, line and column: no condition, more than kMostConditions, or
// something that is none; what ReadSum notes; sums of two types, a string or a boolean that is not
// asked for equality.
absl::StatusOr<std::vector<PatternCondition>> ReadConditions(const TextSection& section,
                                                             absl::string_view file_name,
                                                             const SumNames& names);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_CONDITION_READER_H_
