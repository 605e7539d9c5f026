#include "transpiler/plan/parameters.h"

#include <vector>

#include "proto/program/op.h"

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
  std::vector<const Value*> casts;
  bool is_weight = false;
  for (const Value* at = &value; at != nullptr;) {
    if (at->origin() == Value::Origin::kEntry) is_weight = IsParameter(at->variable());
    if (at->origin() != Value::Origin::kWrite || at->op()->type() != "cast") break;
    if (const auto known = casts_.find(at); known != casts_.end()) {
      is_weight = known->second;
      break;
    }
    casts.push_back(at);
    const Argument* source = at->op()->Input("X");
    at = source == nullptr ? nullptr : source->value();
  }
  for (const Value* cast : casts) casts_[cast] = is_weight;
  return is_weight;
}

}  // namespace fixpoint
