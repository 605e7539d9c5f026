#include "proto/text/variable_text.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "proto/program/type_names.h"
#include "proto/text/attribute_text.h"

namespace fixpoint {
namespace {

class VariableParser {
 public:
  explicit VariableParser(TextScanner* scanner) : scanner_(*scanner) {}

  bool Parse(VarDesc* var);

 private:
  // `described`: a bit for each type whose descriptor was given.
  bool ParseType(VarType* type, uint32_t* described);
  bool ParseDescriptor(VarType::Type kind, VarType* type, uint32_t* described);
  bool ParseTensor(VarType::TensorDesc* tensor);
  template <typename LoDDesc>
  bool ParseLoDTensor(LoDDesc* desc);
  bool ParseVarProperty(VarDesc* var, uint32_t* described);

  TextScanner& scanner_;
};

bool VariableParser::Parse(VarDesc* var) {
  absl::string_view name;
  if (!scanner_.ReadName("the name of a variable", &name)) return false;
  var->set_name(name.data(), name.size());
  uint32_t described = 0;
  if (!ParseType(var->mutable_type(), &described)) return false;
  while (!scanner_.AtEndOfLine() && scanner_.Peek() != '{') {
    if (!ParseVarProperty(var, &described)) return false;
  }
  if (!scanner_.TryConsume('{')) return true;
  return scanner_.ReadSequence('}', [&] { return ParseAttr(&scanner_, var->add_attrs()); });
}

bool VariableParser::ParseType(VarType* type, uint32_t* described) {
  if (scanner_.PeekPastName() == '[') {
    type->set_type(VarType::LOD_TENSOR);
    return ParseDescriptor(VarType::LOD_TENSOR, type, described);
  }
  const size_t start = scanner_.offset();
  absl::string_view word;
  if (!scanner_.ReadName("a type like f32[-1,10]", &word)) return false;
  const absl::optional<VarType::Type> kind = FindType(word);
  if (!kind.has_value()) {
    return scanner_.Fail(start, absl::StrCat("\"", word, "\" is not the type of a variable; ",
                                             "expected the likes of f32[-1,10] or fetch_list"));
  }
  type->set_type(*kind);
  const bool has_descriptor = *kind == VarType::READER || *kind == VarType::TUPLE
                                  ? scanner_.Peek() == '('
                                  : scanner_.PeekPastName() == '[';
  return !has_descriptor || ParseDescriptor(*kind, type, described);
}

bool VariableParser::ParseDescriptor(VarType::Type kind, VarType* type, uint32_t* described) {
  const uint32_t bit = uint32_t{1} << kind;
  if ((*described & bit) != 0) {
    return scanner_.Fail(scanner_.offset(),
                         absl::StrCat(TypeName(kind), " is described twice; ", "expected it once"));
  }
  *described |= bit;
  switch (kind) {
    case VarType::LOD_TENSOR:
      return ParseLoDTensor(type->mutable_lod_tensor());
    case VarType::LOD_TENSOR_ARRAY:
      return ParseLoDTensor(type->mutable_tensor_array());
    case VarType::SELECTED_ROWS:
      return ParseTensor(type->mutable_selected_rows());
    case VarType::STRING:
      return ParseTensor(type->mutable_string());
    case VarType::STRINGS:
      return ParseTensor(type->mutable_strings());
    case VarType::VOCAB:
      return ParseTensor(type->mutable_vocab());
    case VarType::SPARSE_COO:
      return ParseTensor(type->mutable_sparse_coo());
    case VarType::SPARSE_CSR:
      return ParseTensor(type->mutable_sparse_csr());
    case VarType::READER: {
      VarType::ReaderDesc* const reader = type->mutable_reader();
      return scanner_.Consume('(', "before the tensors of a reader") &&
             scanner_.ReadSequence(')', [&] { return ParseLoDTensor(reader->add_lod_tensor()); });
    }
    case VarType::TUPLE: {
      VarType::Tuple* const tuple = type->mutable_tuple();
      return scanner_.Consume('(', "before the types of a tuple") &&
             scanner_.ReadSequence(')', [&] {
               absl::string_view name;
               const size_t start = scanner_.offset();
               if (!scanner_.ReadName("a type", &name)) return false;
               const absl::optional<VarType::Type> element = FindType(name);
               if (!element.has_value()) {
                 return scanner_.Fail(start, absl::StrCat("\"", name, "\" is not a type; ",
                                                          "expected the likes of f32"));
               }
               tuple->add_element_type(*element);
               return true;
             });
    }
    default:
      return scanner_.Fail(scanner_.offset(),
                           absl::StrCat("a variable of type ", TypeName(kind),
                                        " has no shape; expected the end of the line"));
  }
}

bool VariableParser::ParseTensor(VarType::TensorDesc* tensor) {
  const size_t start = scanner_.offset();
  absl::string_view name;
  if (!scanner_.ReadName("a tensor like f32[-1,10]", &name)) return false;
  const absl::optional<VarType::Type> type = FindType(name);
  if (!type.has_value()) {
    return scanner_.Fail(start, absl::StrCat("\"", name, "\" is not the type of an element; ",
                                             "expected the likes of f32, i64, u8 or bool"));
  }
  tensor->set_data_type(*type);
  return scanner_.Consume('[', "before the extents of a tensor") && scanner_.ReadSequence(']', [&] {
    int64_t extent;
    if (!scanner_.ReadInt64("an extent", &extent)) return false;
    tensor->add_dims(extent);
    return true;
  });
}

template <typename LoDDesc>
bool VariableParser::ParseLoDTensor(LoDDesc* desc) {
  if (!ParseTensor(desc->mutable_tensor())) return false;
  if (!scanner_.TryConsumeWord("lod")) return true;
  int32_t level;
  if (!scanner_.ConsumeEquals("lod", false) || !scanner_.ReadInt32("a level", &level)) return false;
  desc->set_lod_level(level);
  return true;
}

bool VariableParser::ParseVarProperty(VarDesc* var, uint32_t* described) {
  const size_t start = scanner_.offset();
  constexpr absl::string_view kProperty =
      "persistable, need_check_feed, is_parameter, stop_gradient or {attributes}";
  absl::string_view word;
  if (!scanner_.ReadName(kProperty, &word)) return false;
  const absl::optional<VarType::Type> kind = FindType(word);
  if (kind.has_value()) {
    return scanner_.Consume('=', absl::StrCat("after ", TypeName(*kind))) &&
           ParseDescriptor(*kind, var->mutable_type(), described);
  }
  bool given = false;
  void (VarDesc::*set)(bool) = nullptr;
  if (word == "persistable") {
    given = var->has_persistable();
    set = &VarDesc::set_persistable;
  } else if (word == "need_check_feed") {
    given = var->has_need_check_feed();
    set = &VarDesc::set_need_check_feed;
  } else if (word == "is_parameter") {
    given = var->has_is_parameter();
    set = &VarDesc::set_is_parameter;
  } else if (word == "stop_gradient") {
    given = var->has_stop_gradient();
    set = &VarDesc::set_stop_gradient;
  } else {
    return scanner_.Fail(start, absl::StrCat("\"", word, "\" is not a property of a variable; ",
                                             "expected ", kProperty));
  }
  if (given) {
    return scanner_.Fail(start, absl::StrCat(word, " is given twice; expected it once"));
  }
  bool value = true;
  if (scanner_.TryConsume('=') && !scanner_.ReadBool(&value)) return false;
  (var->*set)(value);
  return true;
}

}  // namespace

bool ParseVar(TextScanner* scanner, VarDesc* var) { return VariableParser(scanner).Parse(var); }

}  // namespace fixpoint
