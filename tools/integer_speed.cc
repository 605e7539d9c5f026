#include "tools/integer_speed.h"

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "runtime/kernels/instruction_set.h"

namespace fixpoint {
namespace {

bool HasCodes(const Program& program) {
  for (const Op& op : program.ops()) {
    if (IsOnIntegers(op)) return true;
    const OpSchema* schema = FindOpSchema(op.type());
    if (schema == nullptr) continue;
    if (schema->quant_op() != QuantOp::kNone && schema->quant_op() != QuantOp::kObserve) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string IntegerSpeedNote(const Program& program, const std::string& path) {
  if (kernels::HasExactIntegerProducts() || !HasCodes(program)) return "";
  return absl::StrCat("note: ", path,
                      ": this machine has no VNNI, so that codes are multiplied as floats: the "
                      "results are the same, and take longer than those of the float program\n");
}

}  // namespace fixpoint
