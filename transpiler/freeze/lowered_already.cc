#include "transpiler/freeze/lowered_already.h"

#include "absl/strings/str_cat.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"

namespace fixpoint {

absl::Status CheckIsNotLowered(const Program& program) {
  for (const Op& op : program.ops()) {
    if (!IsOnIntegers(op)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(program.name(), ": is lowered already: it has an op ", op.type()));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
