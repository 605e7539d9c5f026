// The tensor in a variable's description.

#ifndef FIXPOINT_PROTO_PROGRAM_TENSOR_DESC_H_
#define FIXPOINT_PROTO_PROGRAM_TENSOR_DESC_H_

#include "proto/wire/program.pb.h"

namespace fixpoint {

// The description that belongs to the variable's type: of the tensor, of the selected rows, of each
// tensor of an array, or of the sparse tensor. Null if it has none.
const VarType::TensorDesc* TensorOf(const VarDesc& variable);

// Whether a tensor's elements can be of a type: numbers, booleans and (PSTRING) strings. The other
// types are kinds of variables.
bool IsElementType(VarType::Type type);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_TENSOR_DESC_H_
