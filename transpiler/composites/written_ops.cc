#include "transpiler/composites/written_ops.h"

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

// Whether a read is of the variable, or of what quantizers made of it.
bool Reads(const Argument& read, const std::string& variable) {
  const Argument* at = &read;
  while (at != nullptr && at->name() != variable) {
    const bool is_written =
        at->value() != nullptr && at->value()->origin() == Value::Origin::kWrite;
    at = is_written ? QuantizedInput(*at->value()->op()) : nullptr;
  }
  return at != nullptr;
}

}  // namespace

const Argument* QuantizedInput(const Op& op) {
  if (op.type() == kQuantizeBias) return op.Input("X");
  return QuantOpOf(op) == QuantOp::kNone ? nullptr : FindCodeArguments(op).input;
}

std::vector<std::string> InputsOf(const OpDesc& op) {
  std::vector<std::string> names;
  for (const OpDesc::Var& slot : op.inputs()) {
    names.insert(names.end(), slot.arguments().begin(), slot.arguments().end());
  }
  return names;
}

std::string ChangeOf(const OpDesc& written, const Op& op, Era era) {
  if (op.type() != written.type()) return absl::StrCat("it was a ", written.type());
  const OpSchema* const schema = FindOpSchema(op.type());
  for (const OpDesc::Attr& attr : written.attrs()) {
    if (schema == nullptr || schema->FindAttr(attr.name(), era) == nullptr) continue;
    const OpDesc::Attr* const now = op.FindAttr(attr.name());
    if (now == nullptr || now->SerializeAsString() != attr.SerializeAsString()) {
      return absl::StrCat("attribute ", attr.name(), " was ", PrintAttrValue(attr));
    }
  }
  const std::vector<std::string> before = InputsOf(written);
  const auto inputs = op.inputs();
  if (inputs.size() != before.size()) return "it has other inputs";
  for (size_t i = 0; i < before.size(); ++i) {
    if (Reads(*inputs[i], before[i])) continue;
    return absl::StrCat("it reads \"", std::string(inputs[i]->name()), "\" where it read \"",
                        before[i], "\"");
  }
  return "";
}

}  // namespace fixpoint
