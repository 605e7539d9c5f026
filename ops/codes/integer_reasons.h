// Whether an op of a lowered program computes on integers, and why not.

#ifndef FIXPOINT_OPS_CODES_INTEGER_REASONS_H_
#define FIXPOINT_OPS_CODES_INTEGER_REASONS_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace fixpoint {

enum class IntegerReason {
#define FIXPOINT_INTEGER_REASON(name, code, meaning) k##name,
#include "ops/codes/integer_reasons.inc"
#undef FIXPOINT_INTEGER_REASON
};

// "on_integers".
absl::string_view IntegerReasonCode(IntegerReason reason);
// A sentence for whoever asks why.
absl::string_view IntegerReasonMeaning(IntegerReason reason);
std::vector<IntegerReason> AllIntegerReasons();

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_INTEGER_REASONS_H_
