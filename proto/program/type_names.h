// How the text form and messages write the types of variables and of attributes.

#ifndef FIXPOINT_PROTO_PROGRAM_TYPE_NAMES_H_
#define FIXPOINT_PROTO_PROGRAM_TYPE_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// "f32", "i64", "bf16" for element types, "lod_tensor", "fetch_list" for kinds of variables.
absl::string_view TypeName(VarType::Type type);

// The inverse; nothing if no type is called so.
absl::optional<VarType::Type> FindType(absl::string_view name);

// "f32[-1,3]"
std::string TensorTypeName(const VarType::TensorDesc& tensor);

// "int", "float64s", "block".
absl::string_view AttrTypeName(AttrType type);

// The inverse; nothing if no type is called so.
absl::optional<AttrType> FindAttrType(absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_TYPE_NAMES_H_
