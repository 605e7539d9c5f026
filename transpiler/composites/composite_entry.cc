#include "transpiler/composites/composite_entry.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "proto/program/program.h"

namespace fixpoint {

void BeginEntry(const Op& op, CompositeMap::Composite* entry) {
  entry->set_block(op.block().index());
  entry->set_op(op.desc().SerializeAsString());
}

void AddComponents(const OpDesc& component, int block,
                   const std::function<std::string(const std::string&)>& kind_of,
                   CompositeMap::Composite* entry) {
  bool is_first = true;
  for (const OpDesc::Var& slot : component.outputs()) {
    for (const std::string& variable : slot.arguments()) {
      CompositeMap::Component& one = *entry->add_components();
      one.set_kind(kind_of(variable));
      one.set_variable(variable);
      if (std::exchange(is_first, false)) one.set_op(component.SerializeAsString());
      if (block != entry->block()) one.set_block(block);
    }
  }
}

void AddDeclarations(const Op& op, CompositeMap::Composite* entry) {
  absl::flat_hash_set<std::string> results;
  for (const CompositeMap::Component& component : entry->components()) {
    results.insert(component.variable());
  }
  for (const Argument* output : op.outputs()) {
    if (output->variable() == nullptr || output->variable()->desc() == nullptr ||
        results.contains(output->variable()->name())) {
      continue;
    }
    entry->add_declarations(output->variable()->desc()->SerializeAsString());
  }
}

std::string SlotThatWrites(const OpDesc& op, const std::string& variable) {
  for (const OpDesc::Var& slot : op.outputs()) {
    for (const std::string& name : slot.arguments()) {
      if (name == variable) return slot.parameter();
    }
  }
  return "";
}

}  // namespace fixpoint
