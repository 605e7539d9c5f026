#include "runtime/kept_state.h"

#include <algorithm>
#include <set>
#include <variant>

#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

std::set<std::string> WrittenPersistables(const Program& program) {
  std::set<std::string> names;
  for (const Op& op : program.ops()) {
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable != nullptr && variable->persistable()) names.insert(variable->name());
    }
  }
  return names;
}

// Writes `value` over what the scope holds, if that is a tensor with the same description.
bool WriteOver(const Scope::Value& value, Scope::Value* held) {
  const auto* from = std::get_if<Tensor>(&value);
  auto* to = held != nullptr ? std::get_if<Tensor>(held) : nullptr;
  const bool fits = from != nullptr && to != nullptr && from->dtype() == to->dtype() &&
                    from->dims() == to->dims() && from->lod() == to->lod();
  if (fits) std::copy(from->bytes().begin(), from->bytes().end(), to->mutable_bytes().begin());
  return fits;
}

void Remove(const std::set<std::string>& names, Scope* scope) {
  Scope rest;
  for (const auto& [name, value] : *scope) {
    if (names.count(name) == 0) rest.Set(name, std::move(*scope->FindOrNull(name)));
  }
  *scope = std::move(rest);
}

}  // namespace

absl::StatusOr<KeptState> KeptState::Of(const Program& program, const Scope& scope) {
  std::vector<Kept> kept;
  for (const std::string& name : WrittenPersistables(program)) {
    Kept& variable = kept.emplace_back();
    variable.name = name;
    const Scope::Value* value = scope.FindOrNull(name);
    if (value == nullptr) continue;
    ASSIGN_OR_RETURN(variable.value, Scope::CloneOf(*value));
  }
  return KeptState(std::move(kept));
}

absl::Status KeptState::Restore(Scope* scope) const {
  std::set<std::string> created;
  for (const Kept& variable : kept_) {
    Scope::Value* const held = scope->FindOrNull(variable.name);
    if (!variable.value) {
      if (held != nullptr) created.insert(variable.name);
      continue;
    }
    if (WriteOver(*variable.value, held)) continue;
    ASSIGN_OR_RETURN(Scope::Value copy, Scope::CloneOf(*variable.value));
    scope->Set(variable.name, std::move(copy));
  }
  if (!created.empty()) Remove(created, scope);
  return absl::OkStatus();
}

}  // namespace fixpoint
