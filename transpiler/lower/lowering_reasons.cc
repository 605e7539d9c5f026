#include "transpiler/lower/lowering_reasons.h"

namespace fixpoint {
namespace {

struct Row {
  absl::string_view code;
  absl::string_view meaning;
};

constexpr Row kRows[] = {
#define FIXPOINT_LOWERING_REASON(name, code, meaning) {code, meaning},
#include "transpiler/lower/lowering_reasons.inc"
#undef FIXPOINT_LOWERING_REASON
};

}  // namespace

absl::string_view LoweringReasonCode(LoweringReason reason) {
  return kRows[static_cast<int>(reason)].code;
}

absl::string_view LoweringReasonMeaning(LoweringReason reason) {
  return kRows[static_cast<int>(reason)].meaning;
}

std::vector<LoweringReason> AllLoweringReasons() {
  return {
#define FIXPOINT_LOWERING_REASON(name, code, meaning) LoweringReason::k##name,
#include "transpiler/lower/lowering_reasons.inc"
#undef FIXPOINT_LOWERING_REASON
  };
}

}  // namespace fixpoint
