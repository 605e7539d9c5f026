#include "runtime/calibration/observed_variables.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "ops/code_ops.h"
#include "ops/op_schema.h"
#include "ops/quant_op.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {
namespace {

bool HoldsRoundedFloats(const Variable& variable) {
  const absl::Span<const Value* const> values = variable.values();
  return std::any_of(values.begin(), values.end(), [](const Value* value) {
    if (value->origin() != Value::Origin::kWrite || value->op() == nullptr) return false;
    const QuantOp kind = QuantOpOf(*value->op());
    return kind == QuantOp::kDequantize || kind == QuantOp::kQuantizeDequantize;
  });
}

bool IsObserved(const Variable& variable) {
  const VarType::TensorDesc* tensor = variable.tensor();
  return !variable.persistable() && tensor != nullptr && tensor->data_type() == VarType::FP32 &&
         !HoldsRoundedFloats(variable);
}

// The arguments of an op that are observed if their variables are.
std::vector<const Argument*> ObservedArguments(const Op& op, ObservedOutputs outputs) {
  switch (QuantOpOf(op)) {
    case QuantOp::kQuantize:
    case QuantOp::kQuantizeDequantize:
    case QuantOp::kObserve:
      return {FindCodeArguments(op).input};
    case QuantOp::kDequantize:
      return {};
    case QuantOp::kNone:
      break;
  }
  const OpSchema* schema = FindOpSchema(op.type());
  if (schema == nullptr || IsFeedOrFetch(op)) return {};
  std::vector<const Argument*> arguments;
  for (const QuantizableInput& input : schema->quantizable_inputs()) {
    for (const Argument* argument : op.Inputs(input.slot)) arguments.push_back(argument);
  }
  if (outputs == ObservedOutputs::kNone) return arguments;
  for (const std::string& slot : schema->quantizable_outputs()) {
    for (const Argument* argument : op.Outputs(slot)) arguments.push_back(argument);
  }
  return arguments;
}

}  // namespace

std::vector<std::string> FindObservedVariables(const Program& program, ObservedOutputs outputs) {
  std::vector<std::string> names;
  absl::flat_hash_set<std::string> seen;
  for (const Op& op : program.ops()) {
    for (const Argument* argument : ObservedArguments(op, outputs)) {
      if (argument == nullptr || argument->variable() == nullptr) continue;
      const Variable& variable = *argument->variable();
      if (IsObserved(variable) && seen.insert(variable.name()).second) {
        names.push_back(variable.name());
      }
    }
  }
  return names;
}

}  // namespace fixpoint
