#include "proto/diff/named_variables.h"

#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"

namespace fixpoint {

NamedVariables::NamedVariables(const Program& program) {
  for (const Op& op : program.ops()) {
    for (const Argument* output : op.outputs()) {
      if (output->variable() == nullptr) continue;
      written_.insert(output->variable());
      if (IsFeed(op)) fed_.insert(output->variable());
    }
  }
}

bool NamedVariables::Contains(const Variable& variable) const {
  return variable.persistable() || fed_.contains(&variable) || !written_.contains(&variable);
}

}  // namespace fixpoint
