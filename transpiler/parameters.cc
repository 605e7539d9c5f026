#include "transpiler/parameters.h"

namespace fixpoint {
namespace {

bool ComputeIsParameter(const Variable& variable) {
  if (!variable.persistable() || variable.tensor() == nullptr) return false;
  for (const Value* value : variable.values()) {
    if (value->origin() == Value::Origin::kWrite && (value->op()->role() & kOptimize) == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Parameters::IsParameter(const Variable& variable) {
  const auto [it, is_new] = known_.try_emplace(&variable, false);
  if (is_new) it->second = ComputeIsParameter(variable);
  return it->second;
}

bool Parameters::IsWeight(const Value& value) {
  const Value* at = &value;
  while (at->origin() == Value::Origin::kWrite && at->op()->type() == "cast") {
    const Argument* source = at->op()->Input("X");
    if (source == nullptr || source->value() == nullptr) return false;
    at = source->value();
  }
  return at->origin() == Value::Origin::kEntry && IsParameter(at->variable());
}

}  // namespace fixpoint
