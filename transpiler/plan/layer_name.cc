#include "transpiler/plan/layer_name.h"

#include "absl/strings/string_view.h"
#include "ops/code_ops.h"
#include "ops/op_schema.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

std::string StemOf(absl::string_view name) {
  const size_t dot = name.rfind('.');
  return std::string(dot == absl::string_view::npos || dot == 0 ? name : name.substr(0, dot));
}

bool IsBetweenFloatsAndCodes(const Op& op) {
  const OpSchema* const schema = FindOpSchema(op.type());
  if (schema == nullptr) return false;
  const QuantOp kind = schema->quant_op();
  return kind == QuantOp::kQuantize || kind == QuantOp::kDequantize ||
         kind == QuantOp::kQuantizeDequantize;
}

}  // namespace

const Value& OriginalOf(const Value& value) {
  const Value* original = &value;
  while (original->origin() == Value::Origin::kWrite && IsBetweenFloatsAndCodes(*original->op())) {
    const Argument* const input = FindCodeArguments(*original->op()).input;
    if (input == nullptr || input->value() == nullptr) break;
    original = input->value();
  }
  return *original;
}

std::string LayerName(const Op& op, Parameters& parameters) {
  return LayerName(op, parameters, OriginalOf);
}

std::string LayerName(const Op& op, Parameters& parameters,
                      const std::function<const Value&(const Value&)>& original) {
  for (const Argument* input : op.inputs()) {
    if (input->value() == nullptr) continue;
    const Value& before = original(*input->value());
    if (parameters.IsWeight(before)) return StemOf(before.variable().name());
  }
  for (const Argument* output : op.outputs()) {
    if (output->variable() != nullptr) return StemOf(output->name());
  }
  return "";
}

}  // namespace fixpoint
