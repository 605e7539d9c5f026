#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstdint>
#include <string>

#include "proto/program_text.h"
#include "proto/text_lexemes.h"
#include "proto/type_names.h"

namespace fixpoint {
namespace {

using ::google::protobuf::Message;
using ::google::protobuf::UnknownFieldSet;

// Deterministic, so that a message with a map always gives the same text.
std::string SerializedBytes(const Message& message) {
  std::string bytes;
  ::google::protobuf::io::StringOutputStream stream(&bytes);
  ::google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

void AppendSerialized(const Message& message, std::string* text) {
  text->append("serialized ");
  AppendQuoted(SerializedBytes(message), text);
}

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

void AppendBool(bool value, std::string* text) { text->append(value ? "true" : "false"); }

void AppendInt(int32_t value, std::string* text) { AppendInteger(value, text); }

void AppendLong(int64_t value, std::string* text) {
  AppendInteger(value, text);
  text->push_back('L');
}

void AppendBlockReference(int32_t block, std::string* text) {
  text->append("block(");
  AppendInteger(block, text);
  text->push_back(')');
}

void AppendVarReference(const std::string& name, std::string* text) {
  text->append("var(");
  AppendName(name, text);
  text->push_back(')');
}

bool IsPlainScalar(const Scalar& scalar) {
  if (!scalar.has_type() || !scalar.unknown_fields().empty()) return false;
  const int fields = scalar.has_b() + scalar.has_i() + scalar.has_r() + scalar.has_c();
  if (fields != 1) return false;
  switch (scalar.type()) {
    case Scalar::BOOLEAN:
      return scalar.has_b();
    case Scalar::LONG:
      return scalar.has_i();
    case Scalar::FLOAT64:
      return scalar.has_r();
    case Scalar::COMPLEX128:
      return scalar.has_c() && scalar.c().has_r() && scalar.c().has_i() &&
             scalar.c().unknown_fields().empty();
  }
  return false;
}

// REQUIRES: IsPlainScalar(scalar).
void AppendScalar(const Scalar& scalar, std::string* text) {
  text->append("scalar(");
  switch (scalar.type()) {
    case Scalar::BOOLEAN:
      AppendBool(scalar.b(), text);
      break;
    case Scalar::LONG:
      AppendLong(scalar.i(), text);
      break;
    case Scalar::FLOAT64:
      AppendDouble(scalar.r(), text);
      break;
    case Scalar::COMPLEX128:
      AppendDouble(scalar.c().r(), text);
      text->append(", ");
      AppendDouble(scalar.c().i(), text);
      break;
  }
  text->push_back(')');
}

constexpr uint32_t Bit(AttrType type) { return uint32_t{1} << type; }

constexpr bool IsListType(AttrType type) {
  constexpr uint32_t kLists = Bit(INTS) | Bit(FLOATS) | Bit(STRINGS) | Bit(BOOLEANS) | Bit(BLOCKS) |
                              Bit(LONGS) | Bit(FLOAT64S) | Bit(VARS) | Bit(SCALARS);
  return (Bit(type) & kLists) != 0;
}

// The attribute types whose value field holds something.
uint32_t FilledValueFields(const OpDesc::Attr& attr) {
  const auto bit_if = [](bool filled, AttrType type) { return filled ? Bit(type) : 0; };
  return bit_if(attr.has_i(), INT) | bit_if(attr.has_f(), FLOAT) | bit_if(attr.has_s(), STRING) |
         bit_if(attr.ints_size() > 0, INTS) | bit_if(attr.floats_size() > 0, FLOATS) |
         bit_if(attr.strings_size() > 0, STRINGS) | bit_if(attr.has_b(), BOOLEAN) |
         bit_if(attr.bools_size() > 0, BOOLEANS) | bit_if(attr.has_block_idx(), BLOCK) |
         bit_if(attr.has_l(), LONG) | bit_if(attr.blocks_idx_size() > 0, BLOCKS) |
         bit_if(attr.longs_size() > 0, LONGS) | bit_if(attr.float64s_size() > 0, FLOAT64S) |
         bit_if(attr.has_var_name(), VAR) | bit_if(attr.vars_name_size() > 0, VARS) |
         bit_if(attr.has_float64(), FLOAT64) | bit_if(attr.has_scalar(), SCALAR) |
         bit_if(attr.scalars_size() > 0, SCALARS);
}

bool IsPlainAttr(const OpDesc::Attr& attr) {
  if (!attr.has_name() || !attr.has_type() || !attr.unknown_fields().empty()) return false;
  const uint32_t expected = Bit(attr.type());
  const uint32_t filled = FilledValueFields(attr);
  if (filled != expected && !(filled == 0 && IsListType(attr.type()))) return false;
  if (attr.type() == SCALAR) return IsPlainScalar(attr.scalar());
  for (const Scalar& scalar : attr.scalars()) {
    if (!IsPlainScalar(scalar)) return false;
  }
  return true;
}

template <typename List, typename AppendElement>
void AppendList(AttrType type, const List& list, AppendElement append_element, std::string* text) {
  if (list.empty()) text->append(AttrTypeName(type).data(), AttrTypeName(type).size());
  text->push_back('[');
  bool first = true;
  for (const auto& element : list) {
    if (!first) text->append(", ");
    first = false;
    append_element(element, text);
  }
  text->push_back(']');
}

// REQUIRES: IsPlainAttr(attr).
void AppendValue(const OpDesc::Attr& attr, std::string* text) {
  switch (attr.type()) {
    case INT:
      return AppendInt(attr.i(), text);
    case FLOAT:
      return AppendFloat(attr.f(), text);
    case STRING:
      return AppendQuoted(attr.s(), text);
    case INTS:
      return AppendList(INTS, attr.ints(), AppendInt, text);
    case FLOATS:
      return AppendList(FLOATS, attr.floats(), AppendFloat, text);
    case STRINGS:
      return AppendList(STRINGS, attr.strings(), AppendQuoted, text);
    case BOOLEAN:
      return AppendBool(attr.b(), text);
    case BOOLEANS:
      return AppendList(BOOLEANS, attr.bools(), AppendBool, text);
    case BLOCK:
      return AppendBlockReference(attr.block_idx(), text);
    case LONG:
      return AppendLong(attr.l(), text);
    case BLOCKS:
      return AppendList(BLOCKS, attr.blocks_idx(), AppendBlockReference, text);
    case LONGS:
      return AppendList(LONGS, attr.longs(), AppendLong, text);
    case FLOAT64S:
      return AppendList(FLOAT64S, attr.float64s(), AppendDouble, text);
    case VAR:
      return AppendVarReference(attr.var_name(), text);
    case VARS:
      return AppendList(VARS, attr.vars_name(), AppendVarReference, text);
    case FLOAT64:
      return AppendDouble(attr.float64(), text);
    case SCALAR:
      return AppendScalar(attr.scalar(), text);
    case SCALARS:
      return AppendList(SCALARS, attr.scalars(), AppendScalar, text);
  }
}

void AppendAttr(const OpDesc::Attr& attr, std::string* text) {
  if (!IsPlainAttr(attr)) return AppendSerialized(attr, text);
  AppendName(attr.name(), text);
  text->push_back('=');
  AppendValue(attr, text);
}

// A variable's attribute has three kinds of value, under other field numbers than an op's.
void AppendAttr(const VarDesc::Attr& attr, std::string* text) {
  OpDesc::Attr same;
  if (attr.has_name()) same.set_name(attr.name());
  if (attr.has_type()) same.set_type(attr.type());
  if (attr.has_i()) same.set_i(attr.i());
  if (attr.has_s()) same.set_s(attr.s());
  same.mutable_ints()->CopyFrom(attr.ints());
  const bool has_kind = attr.type() == INT || attr.type() == STRING || attr.type() == INTS;
  if (!has_kind || !attr.unknown_fields().empty() || !IsPlainAttr(same)) {
    return AppendSerialized(attr, text);
  }
  AppendAttr(same, text);
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

// The functions that return a bool append the short form of something, or return false, having
// appended some of it, where it has none.
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
  if (IsPlainAttr(attr)) {
    AppendValue(attr, &text);
  } else {
    AppendSerialized(attr, &text);
  }
  return text;
}

}  // namespace fixpoint
