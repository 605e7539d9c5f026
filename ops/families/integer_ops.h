// What the ops of lowered programs share: they compute on codes, and say in attributes what is done
// with each element before it is stored, and as what.

#ifndef FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_
#define FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_

#include "absl/strings/string_view.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {

// Attributes of an op that stores codes or numbers: `out_dtype` (INT8, UINT8 or FP32), and of codes
// `out_zero_point`, the code of 0, and `out_range`, what `out_largest_code` codes above it stand
// for.
OpSchemaBuilder& DefineStored(OpSchemaBuilder& op);
// The same of an op that adds up codes, of which that of 0 is `input_zero_point`, with those of an
// epilogue (ops/epilogue.h), whose operands are the arguments of the slot Operands in the order of
// the stages that have one.
OpSchemaBuilder& DefineEpilogue(OpSchemaBuilder& op);
// Whether it makes nothing negative of codes that are not.
bool EpilogueKeepsSign(const OpAttributes& op);

// `infer`, whose output has the data type that `out_dtype` says. Errors (kInvalidArgument), beside
// its own: of the attributes above.
OpSchema::InferFunction InferStored(OpSchema::InferFunction infer, absl::string_view output);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_
