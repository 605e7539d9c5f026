#include "tests/runtime/reference/made_up_feeds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "proto/program/program.h"
#include "runtime/random.h"
#include "runtime/reference/array.h"
#include "runtime/tensor.h"

namespace fixpoint::reference {
namespace {

bool IsFed(const Variable& variable) {
  if (variable.persistable() || variable.tensor() == nullptr || variable.values().empty()) {
    return false;
  }
  const Value& first = *variable.values()[0];
  // A feed op may write it.
  return first.origin() == Value::Origin::kEntry ||
         (first.op() != nullptr && first.op()->type() == "feed");
}

void SetIfAbsent(const Argument& argument, double value, Scope* scope) {
  const Variable* variable = argument.variable();
  if (variable == nullptr || !variable->persistable() || variable->tensor() == nullptr ||
      scope->FindOrNull(variable->name()) != nullptr) {
    return;
  }
  const auto& dims = variable->tensor()->dims();
  Array array(variable->tensor()->data_type(), Dims(dims.begin(), dims.end()));
  std::fill(array.values.begin(), array.values.end(), value);
  scope->Set(variable->name(), *TensorOf(array));
}

}  // namespace

void MakeUpFeeds(const Program& program, int64_t batch, Scope* scope) {
  uint32_t number = 0;
  for (const Variable* variable : program.block(0).variables()) {
    if (!IsFed(*variable)) continue;
    const VarType::TensorDesc& desc = *variable->tensor();
    Array array;
    array.dtype = desc.data_type();
    array.dims.assign(desc.dims().begin(), desc.dims().end());
    for (int64_t& dim : array.dims) dim = dim < 0 ? batch : dim;
    if (variable->desc()->type().lod_tensor().lod_level() > 0) {
      std::vector<uint64_t> offsets = {0};
      for (int64_t s = 0; s < batch; ++s) offsets.push_back(offsets.back() + s + 2);
      array.dims[0] = static_cast<int64_t>(offsets.back());
      array.lod = {offsets};
    }
    const RandomStream random(1, ++number, 0);
    for (int64_t i = 0; i < Volume(array.dims); ++i) {
      const double value = 2 * random.Uniform(i) - 1;
      array.values.push_back(
          Rounded(IsFloatingPoint(array.dtype) ? value : value > 0, array.dtype));
    }
    scope->Set(variable->name(), *TensorOf(array));
  }
}

void InitialiseQuantizers(const Program& program, Scope* scope) {
  for (const Op& op : program.block(0).ops()) {
    for (const Argument* input : op.Inputs("InScale")) SetIfAbsent(*input, 0.001, scope);
    for (const Argument* input : op.Inputs("InState")) SetIfAbsent(*input, 1, scope);
    for (const Argument* input : op.Inputs("InAccum")) SetIfAbsent(*input, 1, scope);
    for (const Argument* output : op.Outputs("OutScales")) SetIfAbsent(*output, 0, scope);
    if (op.type() == "increment") SetIfAbsent(*op.inputs()[0], 0, scope);
  }
}

}  // namespace fixpoint::reference
