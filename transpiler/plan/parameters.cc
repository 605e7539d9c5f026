#include "transpiler/plan/parameters.h"

#include <vector>

#include "proto/program/op.h"
#include "transpiler/plan/folded_weights.h"

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
  std::vector<const Value*> made;
  bool is_weight = false;
  for (const Value* at = &value; at != nullptr;) {
    if (at->origin() == Value::Origin::kEntry) is_weight = IsParameter(at->variable());
    if (at->origin() != Value::Origin::kWrite) break;
    const Op& op = *at->op();
    if (op.type() != "cast" && !FoldsFactors(op)) break;
    if (const auto known = made_.find(at); known != made_.end()) {
      is_weight = known->second;
      break;
    }
    made.push_back(at);
    const Argument* source = op.Input("X");
    at = source == nullptr ? nullptr : source->value();
  }
  for (const Value* value_made : made) made_[value_made] = is_weight;
  return is_weight;
}

}  // namespace fixpoint
