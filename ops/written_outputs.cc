#include "ops/written_outputs.h"

#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {

bool IsWritten(const Argument& output, Era era) {
  const Op& op = output.op();
  const OpSchema* const schema = FindOpSchema(op.type());
  if (schema == nullptr || !schema->traits().draws_numbers) return true;
  const bool is_result = output.slot_name() == schema->outputs().front().name;
  return is_result || !IsTest(op.desc(), era).value_or(false);
}

}  // namespace fixpoint
