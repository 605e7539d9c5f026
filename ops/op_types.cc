#include "ops/op_types.h"

#include "ops/forward_ops.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace fixpoint {

OpTypes::OpTypes(const Program& program) : known_(program.type_count()) {}

bool OpTypes::IsForward(const Op& op) {
  return IsForwardRole(op.role()) && ForwardTypeOf(op).empty();
}

const OpTypes::Known& OpTypes::Of(const Op& op) {
  // Types that were added after the program was scanned are at the end.
  if (op.type_id() >= static_cast<int>(known_.size())) known_.resize(op.type_id() + 1);
  Known& known = known_[op.type_id()];
  if (!known.is_set) {
    known = {true, FindOpSchema(op.type()), fixpoint::ForwardTypeOf(op.type())};
  }
  return known;
}

}  // namespace fixpoint
