#include "ops/codes/declared_facts.h"

#include "ops/op_schema.h"
#include "proto/program.h"

namespace fixpoint {
namespace {

// Whether a run may hold what an input reads as codes: they come from a step from codes, through
// ops that keep their range.
bool MayBeHeldAsCodes(const Argument& input, Era era) {
  const Argument* at = &input;
  while (at != nullptr && at->value() != nullptr) {
    if (at->value()->origin() == Value::Origin::kEntry) return at->op().block().index() > 0;
    if (at->value()->origin() != Value::Origin::kWrite) return true;
    const Op* const op = at->value()->op();
    const OpSchema* const schema = FindOpSchema(op->type());
    if (schema == nullptr) return false;
    switch (schema->quant_op()) {
      case QuantOp::kDequantize:
      case QuantOp::kQuantizeDequantize:
        return true;
      case QuantOp::kQuantize:
        return false;
      case QuantOp::kObserve:
        break;
      case QuantOp::kNone:
        if (!schema->KeepsRange(op->desc(), era)) return false;
    }
    at = op->Input("X");
  }
  return false;
}

}  // namespace

std::optional<KnownType> DeclaredFacts::TypeOf(const Value& value) const {
  const VarType::TensorDesc* const tensor = value.variable().tensor();
  if (tensor == nullptr) return std::nullopt;
  return KnownType{tensor->data_type(), Dims(tensor->dims().begin(), tensor->dims().end())};
}

const Op* DeclaredFacts::OnlyReader(const Value& value) const {
  if (value.written_by() == nullptr || value.readers().size() != 1 ||
      value.variable().values().size() != 1 || value.variable().persistable()) {
    return nullptr;
  }
  const Op& reader = value.readers().front()->op();
  return &reader.block() == &value.op()->block() ? &reader : nullptr;
}

HeldForm DeclaredFacts::HeldFormOf(const Argument& input) const {
  HeldForm form;
  if (MayBeHeldAsCodes(input, era_)) form.kind = HeldForm::Kind::kUnknown;
  return form;
}

}  // namespace fixpoint
