// What the ops of lowered programs share: they compute on codes, and declare in attributes what is
// done with each element before it is stored, and in which type.

#ifndef FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_
#define FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_

#include "absl/strings/string_view.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_schema_builder.h"

namespace fixpoint {

// An op on integers with the attributes of one that stores codes or floats: `out_dtype` (INT8,
// UINT8, INT16 where InferStored allows it, or FP32) and, for codes, `out_zero_point`, the code of
// 0, and `out_range`, the float that `out_largest_code` codes above it stand for.
OpSchemaBuilder& DefineStored(OpSchemaBuilder& op);
// The same for an op that adds up codes, with `input_zero_point`, the code of 0 in its input, and
// the attributes of an epilogue (ops/epilogue_attributes.h), whose operands are the arguments of
// the slot Operands in the order of the stages that have one. What a stage adds to channels is
// FP32, or codes of a bias (ops/bias_codes.h), INT32, in the step that the numbers have there.
OpSchemaBuilder& DefineEpilogue(OpSchemaBuilder& op);
// The same for an op of products of codes, with `weight_zero_point`, the code of 0 in its weight,
// or in its second factor.
OpSchemaBuilder& DefineProductOfCodes(OpSchemaBuilder& op);
// Whether its result is never negative if its codes are not.
bool EpilogueKeepsSign(const OpAttributes& op);

// What an op can store: floats and codes of a byte, or codes alone, wide ones (ops/code_dtype.h)
// too.
enum class StoredTypes { kFloatsAndBytes, kCodes };

// `infer`, with the output's data type given by `out_dtype`, which it may rely on. Errors
// (kInvalidArgument), besides its own: those of the attributes above.
OpSchema::InferFunction InferStored(OpSchema::InferFunction infer, absl::string_view output,
                                    StoredTypes stored = StoredTypes::kFloatsAndBytes);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_FAMILIES_INTEGER_OPS_H_
