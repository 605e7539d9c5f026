#include "proto/wire/legacy_layout.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/legacy_layout.pb.h"

namespace fixpoint {
namespace {

using ::google::protobuf::UnknownField;
using ::google::protobuf::UnknownFieldSet;

constexpr int kTypeField = 2;  // in VarDesc of every layout

// What to add to an old type number, 1 to 9, to get today's.
constexpr int kTypeOffset = VarType::LOD_TENSOR - 1;
constexpr int kLastLegacyType = VarType::READER - kTypeOffset;

enum class Layout { kLegacy, kTransitional };

bool HasField(const UnknownFieldSet& fields, int number, UnknownField::Type type) {
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number && fields.field(i).type() == type) return true;
  }
  return false;
}

// The layouts differ in the wire types of fields 3 and 5 (one of them is `persistable`); only the
// second has field 7. A variable that has none of them is the same in both.
bool ShowsTransitional(const UnknownFieldSet& var) {
  return HasField(var, 3, UnknownField::TYPE_VARINT) ||
         HasField(var, 5, UnknownField::TYPE_LENGTH_DELIMITED) ||
         HasField(var, 7, UnknownField::TYPE_LENGTH_DELIMITED);
}

Layout LayoutOf(const LegacyProgramDesc& program) {
  for (const LegacyProgramDesc::Block& block : program.blocks()) {
    for (const std::string& bytes : block.vars()) {
      UnknownFieldSet var;
      if (var.ParseFromString(bytes) && ShowsTransitional(var)) return Layout::kTransitional;
    }
  }
  return Layout::kLegacy;
}

// Element types ended at FP64.
bool IsLegacyTensor(const VarType::TensorDesc& tensor) {
  return tensor.has_data_type() && tensor.data_type() <= VarType::FP64 &&
         tensor.unknown_fields().empty();
}

template <typename LoDDesc>
bool IsLegacyLoDTensor(const LoDDesc& desc) {
  return IsLegacyTensor(desc.tensor()) && desc.unknown_fields().empty();
}

bool HasLegacyDescriptors(const VarType& type) {
  if (type.has_lod_tensor() && !IsLegacyLoDTensor(type.lod_tensor())) return false;
  if (type.has_tensor_array() && !IsLegacyLoDTensor(type.tensor_array())) return false;
  if (type.has_selected_rows() && !IsLegacyTensor(type.selected_rows())) return false;
  return type.reader().unknown_fields().empty() &&
         std::all_of(type.reader().lod_tensor().begin(), type.reader().lod_tensor().end(),
                     IsLegacyLoDTensor<VarType::LoDTensorDesc>);
}

// Converts a LegacyVarDesc or TransitionalVarDesc to today's layout.
template <typename OldVarDesc>
absl::StatusOr<VarDesc> ConvertVar(const std::string& bytes) {
  OldVarDesc old;
  if (!old.ParsePartialFromString(bytes) || !old.has_name() || !old.has_type() ||
      !old.unknown_fields().empty()) {
    return absl::InvalidArgumentError(
        "is laid out neither as it was before February 2018 nor as "
        "it is since; expected one of the two");
  }
  const std::string named = absl::StrCat("\"", old.name(), "\"");
  if (old.type() < 1 || old.type() > kLastLegacyType) {
    return absl::InvalidArgumentError(absl::StrCat(named, " is of type ", old.type(),
                                                   "; expected 1 to ", kLastLegacyType,
                                                   ", as before February 2018"));
  }
  VarDesc var;
  var.set_name(old.name());
  if (old.has_persistable()) var.set_persistable(old.persistable());
  VarType* const type = var.mutable_type();
  type->set_type(static_cast<VarType::Type>(old.type() + kTypeOffset));
  if (old.has_lod_tensor()) type->mutable_lod_tensor()->Swap(old.mutable_lod_tensor());
  if (old.has_tensor_array()) type->mutable_tensor_array()->Swap(old.mutable_tensor_array());
  if (old.has_selected_rows()) type->mutable_selected_rows()->Swap(old.mutable_selected_rows());
  if constexpr (std::is_same_v<OldVarDesc, TransitionalVarDesc>) {
    if (old.has_reader()) type->mutable_reader()->Swap(old.mutable_reader());
  }
  if (!HasLegacyDescriptors(*type)) {
    return absl::InvalidArgumentError(
        absl::StrCat(named,
                     " has elements of a type that came later; expected bool to f64, as before "
                     "February 2018"));
  }
  return var;
}

}  // namespace

bool HasLegacyLayout(const ProgramDesc& program) {
  for (const BlockDesc& block : program.blocks()) {
    for (const VarDesc& var : block.vars()) {
      if (!var.has_type() &&
          HasField(var.unknown_fields(), kTypeField, UnknownField::TYPE_VARINT)) {
        return true;
      }
    }
  }
  return false;
}

absl::StatusOr<ProgramDesc> ConvertLegacyLayout(absl::string_view bytes,
                                                absl::string_view file_name) {
  LegacyProgramDesc legacy;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !legacy.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_name, ": is not a program as it was before February 2018; expected one"));
  }
  if (!legacy.unknown_fields().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file_name, ": has fields that a program before February 2018 does not; expected blocks"));
  }
  const Layout layout = LayoutOf(legacy);
  ProgramDesc program;
  for (int i = 0; i < legacy.blocks_size(); ++i) {
    LegacyProgramDesc::Block& block = *legacy.mutable_blocks(i);
    if (!block.unknown_fields().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_name, ": block ", i, " has fields that no block had before February ",
                       "2018; expected idx, parent_idx, vars and ops"));
    }
    BlockDesc* const converted = program.add_blocks();
    if (block.has_idx()) converted->set_idx(block.idx());
    if (block.has_parent_idx()) converted->set_parent_idx(block.parent_idx());
    converted->mutable_ops()->Swap(block.mutable_ops());
    for (int j = 0; j < block.vars_size(); ++j) {
      absl::StatusOr<VarDesc> var = layout == Layout::kLegacy
                                        ? ConvertVar<LegacyVarDesc>(block.vars(j))
                                        : ConvertVar<TransitionalVarDesc>(block.vars(j));
      if (!var.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(file_name, ": block ", i, ", variable ", j, " ", var.status().message()));
      }
      *converted->add_vars() = *std::move(var);
    }
  }
  return program;
}

}  // namespace fixpoint
