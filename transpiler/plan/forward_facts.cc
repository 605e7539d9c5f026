#include "transpiler/plan/forward_facts.h"

#include "proto/program/op.h"

namespace fixpoint {

const Op* ForwardFacts::OnlyReader(const Value& value) const {
  if (value.written_by() == nullptr || value.variable().persistable()) return nullptr;
  const Argument* only = nullptr;
  for (const Argument* reader : value.readers()) {
    if (!types_.IsForward(reader->op())) continue;
    if (only != nullptr) return nullptr;
    only = reader;
  }
  return only != nullptr ? &only->op() : nullptr;
}

}  // namespace fixpoint
