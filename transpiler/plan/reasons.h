// Why an op is quantized or stays float.

#ifndef FIXPOINT_TRANSPILER_PLAN_REASONS_H_
#define FIXPOINT_TRANSPILER_PLAN_REASONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fixpoint {

enum class Reason {
#define FIXPOINT_REASON(name, code, meaning) k##name,
#include "transpiler/plan/reasons.inc"
#undef FIXPOINT_REASON
};

// The code that files and tables use: "skipped_by_rule".
absl::string_view ReasonCode(Reason reason);
absl::string_view ReasonMeaning(Reason reason);
// Nothing if no reason has that code.
std::optional<Reason> ReasonOfCode(absl::string_view code);
std::vector<Reason> AllReasons();

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_REASONS_H_
