#include "ops/equal_shapes.h"

#include <optional>

#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// Null if it is not a tensor of FP32.
const VarType::TensorDesc* FloatsOf(const Argument* argument) {
  const Variable* variable = argument != nullptr ? argument->variable() : nullptr;
  const VarType::TensorDesc* tensor = variable != nullptr ? variable->tensor() : nullptr;
  return tensor != nullptr && tensor->data_type() == VarType::FP32 ? tensor : nullptr;
}

}  // namespace

bool HaveEqualShapes(const Op& op) {
  const std::optional<SumTrait>& sum = TraitsOf(op).sum;
  if (!sum) return false;
  const VarType::TensorDesc* const x = FloatsOf(op.Input(sum->x));
  const VarType::TensorDesc* const y = FloatsOf(op.Input(sum->y));
  if (x == nullptr || y == nullptr || x->dims_size() != y->dims_size() || x->dims_size() == 0) {
    return false;
  }
  for (int i = 0; i < x->dims_size(); ++i) {
    if (x->dims(i) != y->dims(i) || (i > 0 && x->dims(i) < 0)) return false;
  }
  return true;
}

}  // namespace fixpoint
