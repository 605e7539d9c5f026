#include "ops/codes/declared_dims.h"

#include "proto/program/op.h"

namespace fixpoint {

Dims DeclaredDims(const Argument& input) {
  const Variable* const variable = input.variable();
  const VarType::TensorDesc* const tensor = variable != nullptr ? variable->tensor() : nullptr;
  return tensor != nullptr ? Dims(tensor->dims().begin(), tensor->dims().end()) : Dims();
}

Dims DeclaredDims(const Op& op, absl::string_view slot) {
  const Argument* const input = op.Input(slot);
  return input != nullptr ? DeclaredDims(*input) : Dims();
}

}  // namespace fixpoint
