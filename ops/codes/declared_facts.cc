#include "ops/codes/declared_facts.h"

#include "ops/code_ops.h"
#include "ops/codes/held_codes.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// Whether a run may hold the floats that an op gives as codes.
bool MayGiveHeldCodes(const Op& op, Era era) {
  switch (QuantOpOf(op)) {
    case QuantOp::kDequantize:
      return true;
    case QuantOp::kQuantizeDequantize: {
      const std::optional<CodeOp> read = ReadCodeOp(op, era);
      return !read || CodesHeldOf(*read, /*is_never_negative=*/true);
    }
    default:
      return false;
  }
}

// Whether an op's output may be held as its input X is.
bool PassesOn(const Op& op, Era era) {
  const OpSchema* const schema = FindOpSchema(op.type());
  if (schema == nullptr) return false;
  if (schema->quant_op() == QuantOp::kObserve || schema->KeepsRange(op.desc(), era)) return true;
  const std::optional<CodeOp> read = ReadCodeOp(op, era);
  return read && read->only_observes;
}

// Whether a run may hold the floats that an input reads as codes.
bool MayBeHeldAsCodes(const Argument& input, Era era) {
  const Argument* at = &input;
  while (at != nullptr && at->value() != nullptr) {
    const Value& value = *at->value();
    if (value.origin() == Value::Origin::kEntry) return at->op().block().index() > 0;
    if (value.origin() != Value::Origin::kWrite) return true;
    if (!PassesOn(*value.op(), era)) return MayGiveHeldCodes(*value.op(), era);
    at = value.op()->Input("X");
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

const Op* DeclaredFacts::WriterFor(const Argument* input) const {
  if (input == nullptr || input->value() == nullptr) return nullptr;
  return OnlyReader(*input->value()) == &input->op() ? input->value()->op() : nullptr;
}

}  // namespace fixpoint
