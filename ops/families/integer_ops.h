// What the ops of lowered programs share: they compute on codes, and say in attributes what is done
// with each element before it is stored, and as what.

#ifndef FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_
#define FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_

#include "absl/strings/string_view.h"
#include "ops/op_schema.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {

// Attributes of an op that stores codes or numbers: `out_dtype` (INT8, UINT8 or FP32), and of codes
// `out_range`, what the code `out_largest_code` stands for.
OpSchemaBuilder& DefineStored(OpSchemaBuilder& op);
// The same with those of an epilogue (ops/epilogue.h), whose operands are the arguments of the slot
// Operands in the order of the stages that have one.
OpSchemaBuilder& DefineEpilogue(OpSchemaBuilder& op);
// Whether the epilogue makes nothing negative of what is not.
bool EpilogueKeepsSign(const OpDesc& op);

// `infer`, whose output has the data type that `out_dtype` says. Errors (kInvalidArgument), beside
// its own: of the attributes above.
OpSchema::InferFunction InferStored(OpSchema::InferFunction infer, absl::string_view output);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_
