#include "transpiler/composites/written_ops.h"

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/era.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

bool IsParameterOfCodes(const Value& value) {
  const VarType::TensorDesc* const tensor = value.variable().tensor();
  return value.origin() == Value::Origin::kEntry && value.variable().persistable() &&
         tensor != nullptr &&
         (IsCodeDtype(tensor->data_type()) || IsWideCodeDtype(tensor->data_type()));
}

// Whether a read is of the variable, or of what quantizers made of it. Freezing leaves the codes of
// a parameter in its place.
bool Reads(const Program& program, const Argument& read, const std::string& variable) {
  const Argument* at = &read;
  while (at->name() != variable) {
    if (at->value() == nullptr) return false;
    if (at->value()->origin() != Value::Origin::kWrite) {
      return at != &read && IsParameterOfCodes(*at->value()) &&
             program.Find(read.op().block(), variable) == nullptr;
    }
    at = QuantizedInput(*at->value()->op());
    if (at == nullptr) return false;
  }
  return true;
}

// "" where the op runs no block.
absl::string_view CaptureSlotOf(const std::string& type) {
  const OpSchema* const schema = FindOpSchema(type);
  return schema == nullptr ? absl::string_view() : absl::string_view(schema->traits().captures);
}

}  // namespace

const Argument* QuantizedInput(const Op& op) {
  if (op.type() == kQuantizeBias) return op.Input("X");
  return QuantOpOf(op) == QuantOp::kNone ? nullptr : FindCodeArguments(op).input;
}

std::vector<const Argument*> ReadsOf(const Op& op) {
  const absl::string_view captured = CaptureSlotOf(op.type());
  std::vector<const Argument*> reads;
  for (const Argument* input : op.inputs()) {
    if (input->slot_name() != captured) reads.push_back(input);
  }
  return reads;
}

std::vector<std::string> ReadsOf(const OpDesc& op) {
  const absl::string_view captured = CaptureSlotOf(op.type());
  std::vector<std::string> names;
  for (const OpDesc::Var& slot : op.inputs()) {
    if (slot.parameter() == captured) continue;
    names.insert(names.end(), slot.arguments().begin(), slot.arguments().end());
  }
  return names;
}

std::string ChangeOf(const OpDesc& written, const Op& op, const Program& program) {
  const Era era = EraOf(program);
  if (op.type() != written.type()) return absl::StrCat("it was a ", written.type());
  const OpSchema* const schema = FindOpSchema(op.type());
  for (const OpDesc::Attr& attr : written.attrs()) {
    if (schema == nullptr || schema->FindAttr(attr.name(), era) == nullptr) continue;
    const OpDesc::Attr* const now = op.FindAttr(attr.name());
    if (now == nullptr || now->SerializeAsString() != attr.SerializeAsString()) {
      return absl::StrCat("attribute ", attr.name(), " was ", PrintAttrValue(attr));
    }
  }
  const std::vector<std::string> before = ReadsOf(written);
  const std::vector<const Argument*> inputs = ReadsOf(op);
  if (inputs.size() != before.size()) return "it has other inputs";
  for (size_t i = 0; i < before.size(); ++i) {
    if (Reads(program, *inputs[i], before[i])) continue;
    return absl::StrCat("it reads \"", std::string(inputs[i]->name()), "\" where it read \"",
                        before[i], "\"");
  }
  return "";
}

}  // namespace fixpoint
