#include "proto/program/type_names.h"

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fixpoint {
namespace {

// Indexed by the enumerators' values.
constexpr const char* kTypeNames[] = {
    "bool",
    "i16",
    "i32",
    "i64",
    "f16",
    "f32",
    "f64",
    "lod_tensor",
    "selected_rows",
    "feed_minibatch",
    "fetch_list",
    "step_scopes",
    "lod_rank_table",
    "tensor_array",
    "place_list",
    "reader",
    "fetch_var_list",
    "raw",
    "tuple",
    "size_t",
    "u8",
    "i8",
    "bf16",
    "c64",
    "c128",
    "string",
    "strings",
    "vocab",
    "feed_list",
    "pstring",
    "sparse_coo",
    "sparse_csr",
};
static_assert(sizeof(kTypeNames) / sizeof(kTypeNames[0]) == VarType::Type_ARRAYSIZE);

constexpr const char* kAttrTypeNames[] = {
    "int",  "float",  "string", "ints",     "floats", "strings", "boolean", "booleans", "block",
    "long", "blocks", "longs",  "float64s", "var",    "vars",    "float64", "scalar",   "scalars",
};
static_assert(sizeof(kAttrTypeNames) / sizeof(kAttrTypeNames[0]) == AttrType_ARRAYSIZE);

}  // namespace

absl::string_view TypeName(VarType::Type type) {
  CHECK(VarType::Type_IsValid(type)) << type;
  return kTypeNames[type];
}

absl::optional<VarType::Type> FindType(absl::string_view name) {
  for (int i = 0; i < VarType::Type_ARRAYSIZE; ++i) {
    if (name == kTypeNames[i]) return static_cast<VarType::Type>(i);
  }
  return absl::nullopt;
}

std::string TensorTypeName(const VarType::TensorDesc& tensor) {
  return absl::StrCat(TypeName(tensor.data_type()), "[", absl::StrJoin(tensor.dims(), ","), "]");
}

absl::string_view AttrTypeName(AttrType type) {
  CHECK(AttrType_IsValid(type)) << type;
  return kAttrTypeNames[type];
}

absl::optional<AttrType> FindAttrType(absl::string_view name) {
  for (int i = 0; i < AttrType_ARRAYSIZE; ++i) {
    if (name == kAttrTypeNames[i]) return static_cast<AttrType>(i);
  }
  return absl::nullopt;
}

}  // namespace fixpoint
