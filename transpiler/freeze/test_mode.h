// Ops that compute otherwise in inference: those with an attribute is_test.

#ifndef FIXPOINT_TRANSPILER_FREEZE_TEST_MODE_H_
#define FIXPOINT_TRANSPILER_FREEZE_TEST_MODE_H_

#include "ops/era.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/program/op.h"

namespace fixpoint {

// Whether an op has the attribute, or its type does in that era.
inline bool HasTestMode(const Op& op, Era era) {
  if (op.FindAttr(kIsTest) != nullptr) return true;
  const OpSchema* const schema = FindOpSchema(op.type());
  const AttrSchema* const attr = schema != nullptr ? schema->FindAttr(kIsTest, era) : nullptr;
  return attr != nullptr && Includes(attr->eras, era);
}

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_TEST_MODE_H_
