// Whether an op of a lowered program computes on integers, and why not.

#ifndef FIXPOINT_TRANSPILER_LOWER_LOWERING_REASONS_H_
#define FIXPOINT_TRANSPILER_LOWER_LOWERING_REASONS_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace fixpoint {

enum class LoweringReason {
#define FIXPOINT_LOWERING_REASON(name, code, meaning) k##name,
#include "transpiler/lower/lowering_reasons.inc"
#undef FIXPOINT_LOWERING_REASON
};

// "on_integers".
absl::string_view LoweringReasonCode(LoweringReason reason);
// A sentence for whoever asks why.
absl::string_view LoweringReasonMeaning(LoweringReason reason);
std::vector<LoweringReason> AllLoweringReasons();

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_LOWERING_REASONS_H_
