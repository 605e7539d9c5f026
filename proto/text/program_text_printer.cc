#include <google/protobuf/unknown_field_set.h>

#include <string>

#include "proto/program/type_names.h"
#include "proto/text/attribute_text.h"
#include "proto/text/program_text.h"
#include "proto/text/text_lexemes.h"

namespace fixpoint {
namespace {

using ::google::protobuf::UnknownFieldSet;

void AppendUnknownFields(const UnknownFieldSet& fields, std::string* text) {
  if (fields.empty()) return;
  std::string bytes;
  fields.SerializeToString(&bytes);
  text->append(" unknown=");
  AppendQuoted(bytes, text);
}

void AppendFlag(absl::string_view name, bool value, std::string* text) {
  text->push_back(' ');
  text->append(name.data(), name.size());
  if (!value) text->append("=false");
}

template <typename Attrs>
void AppendAttrs(const Attrs& attrs, const ProgramTextOptions& options, std::string* text) {
  const char* separator = " {";
  for (const auto& attr : attrs) {
    if (!options.debug_attributes && IsDebugAttr(attr.name())) continue;
    text->append(separator);
    separator = ", ";
    AppendAttr(attr, text);
  }
  if (separator[0] == ',') text->push_back('}');
}

// The functions that return a bool append the short form of something, or return false, possibly
// after appending a part of it, if there is none.
bool AppendTensor(const VarType::TensorDesc& tensor, std::string* text) {
  if (!tensor.has_data_type() || !tensor.unknown_fields().empty()) return false;
  const absl::string_view type = TypeName(tensor.data_type());
  text->append(type.data(), type.size());
  text->push_back('[');
  for (int i = 0; i < tensor.dims_size(); ++i) {
    if (i > 0) text->push_back(',');
    AppendInteger(tensor.dims(i), text);
  }
  text->push_back(']');
  return true;
}

// LoDTensorDesc or LoDTensorArrayDesc.
template <typename LoDDesc>
bool AppendLoDTensor(const LoDDesc& desc, std::string* text) {
  if (!desc.has_tensor() || !desc.unknown_fields().empty()) return false;
  if (!AppendTensor(desc.tensor(), text)) return false;
  if (desc.has_lod_level()) {
    text->append(" lod=");
    AppendInteger(desc.lod_level(), text);
  }
  return true;
}

bool AppendDescriptor(const VarType::TensorDesc& desc, std::string* text) {
  return AppendTensor(desc, text);
}

bool AppendDescriptor(const VarType::LoDTensorDesc& desc, std::string* text) {
  return AppendLoDTensor(desc, text);
}

bool AppendDescriptor(const VarType::LoDTensorArrayDesc& desc, std::string* text) {
  return AppendLoDTensor(desc, text);
}

bool AppendDescriptor(const VarType::ReaderDesc& desc, std::string* text) {
  if (!desc.unknown_fields().empty()) return false;
  text->push_back('(');
  for (int i = 0; i < desc.lod_tensor_size(); ++i) {
    if (i > 0) text->append(", ");
    if (!AppendLoDTensor(desc.lod_tensor(i), text)) return false;
  }
  text->push_back(')');
  return true;
}

bool AppendDescriptor(const VarType::Tuple& desc, std::string* text) {
  if (!desc.unknown_fields().empty()) return false;
  text->push_back('(');
  for (int i = 0; i < desc.element_type_size(); ++i) {
    if (i > 0) text->append(", ");
    const absl::string_view type = TypeName(desc.element_type(i));
    text->append(type.data(), type.size());
  }
  text->push_back(')');
  return true;
}

// Calls visit(type, has_descriptor, descriptor) for each descriptor that a type may have.
template <typename Visit>
bool VisitDescriptors(const VarType& type, Visit visit) {
  return visit(VarType::SELECTED_ROWS, type.has_selected_rows(), type.selected_rows()) &&
         visit(VarType::LOD_TENSOR, type.has_lod_tensor(), type.lod_tensor()) &&
         visit(VarType::LOD_TENSOR_ARRAY, type.has_tensor_array(), type.tensor_array()) &&
         visit(VarType::READER, type.has_reader(), type.reader()) &&
         visit(VarType::TUPLE, type.has_tuple(), type.tuple()) &&
         visit(VarType::STRING, type.has_string(), type.string()) &&
         visit(VarType::STRINGS, type.has_strings(), type.strings()) &&
         visit(VarType::VOCAB, type.has_vocab(), type.vocab()) &&
         visit(VarType::SPARSE_COO, type.has_sparse_coo(), type.sparse_coo()) &&
         visit(VarType::SPARSE_CSR, type.has_sparse_csr(), type.sparse_csr());
}

bool AppendType(const VarType& type, std::string* text) {
  if (!type.has_type() || type.has_retired_channel() || !type.unknown_fields().empty()) {
    return false;
  }
  const bool is_plain_tensor = type.type() == VarType::LOD_TENSOR && type.has_lod_tensor();
  if (!is_plain_tensor) {
    const absl::string_view name = TypeName(type.type());
    text->append(name.data(), name.size());
  }
  const bool own_done = VisitDescriptors(type, [&](auto kind, bool present, const auto& desc) {
    if (!present || kind != type.type()) return true;
    const bool in_parentheses = kind == VarType::READER || kind == VarType::TUPLE;
    if (!is_plain_tensor && !in_parentheses) text->push_back(' ');
    return AppendDescriptor(desc, text);
  });
  return own_done && VisitDescriptors(type, [&](auto kind, bool present, const auto& desc) {
           if (!present || kind == type.type()) return true;
           text->push_back(' ');
           text->append(TypeName(kind).data(), TypeName(kind).size());
           text->push_back('=');
           return AppendDescriptor(desc, text);
         });
}

bool AppendPlainVar(const VarDesc& var, std::string* text) {
  if (!var.has_name() || !var.has_type() || !var.unknown_fields().empty()) return false;
  AppendName(var.name(), text);
  text->push_back(' ');
  if (!AppendType(var.type(), text)) return false;
  if (var.has_persistable()) AppendFlag("persistable", var.persistable(), text);
  if (var.has_need_check_feed()) AppendFlag("need_check_feed", var.need_check_feed(), text);
  if (var.has_is_parameter()) AppendFlag("is_parameter", var.is_parameter(), text);
  if (var.has_stop_gradient()) AppendFlag("stop_gradient", var.stop_gradient(), text);
  AppendAttrs(var.attrs(), {}, text);
  return true;
}

void AppendVar(const VarDesc& var, std::string* text) {
  text->append("var ");
  const size_t start = text->size();
  if (AppendPlainVar(var, text)) return;
  text->resize(start);
  AppendSerialized(var, text);
}

void AppendSlot(const OpDesc::Var& slot, std::string* text) {
  if (!slot.has_parameter() || !slot.unknown_fields().empty()) return AppendSerialized(slot, text);
  AppendName(slot.parameter(), text);
  text->push_back('=');
  if (slot.arguments_size() == 1) return AppendName(slot.arguments(0), text);
  text->push_back('[');
  for (int i = 0; i < slot.arguments_size(); ++i) {
    if (i > 0) text->append(", ");
    AppendName(slot.arguments(i), text);
  }
  text->push_back(']');
}

template <typename Slots>
void AppendSlots(const Slots& slots, std::string* text) {
  text->push_back('(');
  for (int i = 0; i < slots.size(); ++i) {
    if (i > 0) text->append(", ");
    AppendSlot(slots[i], text);
  }
  text->push_back(')');
}

void AppendOp(const OpDesc& op, const ProgramTextOptions& options, std::string* text) {
  if (!op.has_type()) {
    text->append("op ");
    return AppendSerialized(op, text);
  }
  if (IsStatementWord(op.type())) {
    AppendQuoted(op.type(), text);
  } else {
    AppendName(op.type(), text);
  }
  AppendSlots(op.inputs(), text);
  if (!op.outputs().empty()) {
    text->append(" -> ");
    AppendSlots(op.outputs(), text);
  }
  AppendAttrs(op.attrs(), options, text);
  if (op.has_is_target()) AppendFlag("is_target", op.is_target(), text);
  AppendUnknownFields(op.unknown_fields(), text);
}

void AppendBlock(const BlockDesc& block, const ProgramTextOptions& options, std::string* text) {
  text->append("block ");
  if (!block.has_idx() || !block.has_parent_idx()) {
    AppendSerialized(block, text);
    text->push_back('\n');
    return;
  }
  AppendInteger(block.idx(), text);
  if (block.parent_idx() != -1) {
    text->append(" parent=");
    AppendInteger(block.parent_idx(), text);
  }
  if (block.has_forward_block_idx()) {
    text->append(" forward=");
    AppendInteger(block.forward_block_idx(), text);
  }
  AppendUnknownFields(block.unknown_fields(), text);
  text->append(" {\n");
  for (const VarDesc& var : block.vars()) {
    text->append("  ");
    AppendVar(var, text);
    text->push_back('\n');
  }
  for (const OpDesc& op : block.ops()) {
    text->append("  ");
    AppendOp(op, options, text);
    text->push_back('\n');
  }
  text->append("}\n");
}

void AppendVersion(const Version& version, std::string* text) {
  text->append(" version=");
  if (!version.has_version() || !version.unknown_fields().empty()) {
    return AppendSerialized(version, text);
  }
  AppendInteger(version.version(), text);
}

bool IsPlainPair(const OpVersionMap::OpVersionPair& pair) {
  return pair.has_op_name() && pair.has_op_version() && pair.op_version().has_version() &&
         pair.unknown_fields().empty() && pair.op_version().unknown_fields().empty();
}

bool AppendPlainOpVersions(const OpVersionMap& versions, std::string* text) {
  if (!versions.unknown_fields().empty()) return false;
  text->push_back('{');
  for (int i = 0; i < versions.pair_size(); ++i) {
    const OpVersionMap::OpVersionPair& pair = versions.pair(i);
    if (!IsPlainPair(pair)) return false;
    if (i > 0) text->append(", ");
    AppendName(pair.op_name(), text);
    text->push_back('=');
    AppendInteger(pair.op_version().version(), text);
  }
  text->push_back('}');
  return true;
}

void AppendOpVersions(const OpVersionMap& versions, std::string* text) {
  text->append(" op_versions=");
  const size_t start = text->size();
  if (AppendPlainOpVersions(versions, text)) return;
  text->resize(start);
  AppendSerialized(versions, text);
}

void AppendHeader(const ProgramDesc& program, std::string* text) {
  text->append("program");
  if (program.has_retired_version()) {
    text->append(" retired_version=");
    AppendQuoted(program.retired_version(), text);
  }
  if (program.has_retired_op_compatible_map()) {
    text->append(" retired_op_compatible_map=");
    AppendQuoted(program.retired_op_compatible_map(), text);
  }
  if (program.has_version()) AppendVersion(program.version(), text);
  if (program.has_op_version_map()) AppendOpVersions(program.op_version_map(), text);
  if (program.has_edit_log()) {
    text->append(" edit_log=");
    AppendSerialized(program.edit_log(), text);
  }
  if (program.has_composites()) {
    text->append(" composites=serialized ");
    AppendQuoted(program.composites(), text);
  }
  AppendUnknownFields(program.unknown_fields(), text);
  text->push_back('\n');
}

}  // namespace

bool IsDebugAttr(absl::string_view name) {
  return name == "op_callstack" || name == "op_namescope" || name == "op_device";
}

std::string PrintProgram(const ProgramDesc& program, const ProgramTextOptions& options) {
  std::string text;
  AppendHeader(program, &text);
  for (const BlockDesc& block : program.blocks()) AppendBlock(block, options, &text);
  return text;
}

std::string PrintOp(const OpDesc& op, const ProgramTextOptions& options) {
  std::string text;
  AppendOp(op, options, &text);
  return text;
}

std::string PrintVar(const VarDesc& var) {
  std::string text;
  AppendVar(var, &text);
  return text;
}

std::string PrintAttrValue(const OpDesc::Attr& attr) {
  std::string text;
  AppendAttrValue(attr, &text);
  return text;
}

}  // namespace fixpoint
