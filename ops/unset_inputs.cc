#include "ops/unset_inputs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/program/op.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

std::string WhyUnset(const Value& value) {
  if (value.origin() == Value::Origin::kExit && !value.op()->sub_blocks().empty()) {
    return absl::StrCat(": ", Describe(*value.op()), " did not run block ",
                        value.op()->sub_blocks()[0]->index(), ", which writes it");
  }
  if (value.origin() == Value::Origin::kWrite) {
    return absl::StrCat(": ", Describe(*value.op()), " did not write it");
  }
  return "; want it fed, initialised by the startup program, or written by an op before";
}

}  // namespace

bool MayBeUnset(const Argument& input, Era era) {
  const Op& op = input.op();
  if (op.type() == "select_input") return input.slot_name() == "X";
  if (op.sub_blocks().empty()) return false;
  const OpSchema* schema = FindOpSchema(op.type());
  const SlotSchema* slot = schema != nullptr ? schema->FindInput(input.slot_name(), era) : nullptr;
  return slot == nullptr || slot->list;
}

absl::Status NoValue(const Value& value) {
  return absl::FailedPreconditionError(
      absl::StrCat("\"", value.variable().name(), "\" has no value", WhyUnset(value)));
}

absl::Status NoValue(const Argument& input) {
  return absl::FailedPreconditionError(absl::StrCat("input ", input.slot_name(), " reads \"",
                                                    input.name(), "\", which has no value",
                                                    WhyUnset(*input.value())));
}

}  // namespace fixpoint
