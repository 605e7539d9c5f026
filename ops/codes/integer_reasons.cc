#include "ops/codes/integer_reasons.h"

namespace fixpoint {
namespace {

struct Row {
  absl::string_view code;
  absl::string_view meaning;
};

constexpr Row kRows[] = {
#define FIXPOINT_INTEGER_REASON(name, code, meaning) {code, meaning},
#include "ops/codes/integer_reasons.inc"
#undef FIXPOINT_INTEGER_REASON
};

}  // namespace

absl::string_view IntegerReasonCode(IntegerReason reason) {
  return kRows[static_cast<int>(reason)].code;
}

absl::string_view IntegerReasonMeaning(IntegerReason reason) {
  return kRows[static_cast<int>(reason)].meaning;
}

std::vector<IntegerReason> AllIntegerReasons() {
  return {
#define FIXPOINT_INTEGER_REASON(name, code, meaning) IntegerReason::k##name,
#include "ops/codes/integer_reasons.inc"
#undef FIXPOINT_INTEGER_REASON
  };
}

}  // namespace fixpoint
