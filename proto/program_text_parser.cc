#include <google/protobuf/unknown_field_set.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/program_text.h"
#include "proto/text_scanner.h"
#include "proto/type_names.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kStatement =
    "a line that begins with program, block, var or the type of an op";
constexpr absl::string_view kValue =
    "a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), var(x), "
    "scalar(1L), or a list of these like [1, 2] or ints[]";

// The type of a list of `element`; INT where there is none.
AttrType ListOf(AttrType element) {
  switch (element) {
    case INT:
      return INTS;
    case FLOAT:
      return FLOATS;
    case STRING:
      return STRINGS;
    case BOOLEAN:
      return BOOLEANS;
    case BLOCK:
      return BLOCKS;
    case LONG:
      return LONGS;
    case FLOAT64:
      return FLOAT64S;
    case VAR:
      return VARS;
    case SCALAR:
      return SCALARS;
    default:
      return INT;
  }
}

bool IsListType(AttrType type) { return ListOf(type) == INT; }

// Each Parse function stands at what it is named for, passes it, and returns false after it noted
// an error with the scanner.
class Parser {
 public:
  explicit Parser(absl::string_view text) : scanner_(text) {}

  absl::StatusOr<ProgramDesc> Parse(absl::string_view file_name);

 private:
  enum class BlockState { kNone, kImplied, kInBraces };

  bool ParseLine();
  bool ParseStatement();
  bool ParseHeader();
  bool ParseHeaderField();
  bool ParseOpVersion(OpVersionMap* versions);
  bool ParseBlockStart();
  bool ParseBlockEnd();
  bool ParseVarLine();
  bool ParseVar(VarDesc* var);
  bool ParseType(VarType* type, uint32_t* described);
  bool ParseDescriptor(VarType::Type kind, VarType* type, uint32_t* described);
  bool ParseTensor(VarType::TensorDesc* tensor);
  template <typename LoDDesc>
  bool ParseLoDTensor(LoDDesc* desc);
  bool ParseVarProperty(VarDesc* var, uint32_t* described);
  bool ParseVarAttr(VarDesc::Attr* attr);
  bool ParseOpLine();
  bool ParseOp(OpDesc* op);
  template <typename Slots>
  bool ParseSlots(Slots* slots);
  bool ParseSlot(OpDesc::Var* slot);
  bool ParseAttr(OpDesc::Attr* attr);
  bool ParseValue(OpDesc::Attr* attr);
  bool ParseEmptyList(OpDesc::Attr* attr);
  bool ParseElement(bool in_list, OpDesc::Attr* attr);
  bool ParseNumber(bool in_list, OpDesc::Attr* attr);
  bool ParseScalar(Scalar* scalar);
  bool ParseScalarNumber(Scalar* scalar);
  bool ParseBool(bool* value);

  // `= value` of a property that stands at most once.
  bool ParseEquals(absl::string_view word, bool already_given);
  bool ParseUnknownFields(google::protobuf::UnknownFieldSet* fields);
  // Things between brackets, the first of which is passed already, and commas.
  template <typename ParseOne>
  bool ParseSequence(char close, ParseOne parse_one);

  bool AtSerialized() const {
    return scanner_.AtWord("serialized") && scanner_.PeekPastName() == '"';
  }
  template <typename Message>
  bool ParseSerialized(Message* message);

  // The block that a var or op line is in; null after an error.
  BlockDesc* CurrentBlock();
  // Gives `attr` the type of the element that stood at `start`.
  bool SetElementType(AttrType element, bool in_list, size_t start, OpDesc::Attr* attr);

  TextScanner scanner_;
  ProgramDesc program_;
  BlockDesc* block_ = nullptr;
  BlockState block_state_ = BlockState::kNone;
  size_t block_start_ = 0;
  bool at_first_line_ = true;
  std::string quoted_;
};

absl::StatusOr<ProgramDesc> Parser::Parse(absl::string_view file_name) {
  scanner_.SkipLineEnds();
  while (!scanner_.AtEnd()) {
    if (!ParseLine() && !scanner_.Recover()) return scanner_.status(file_name);
    at_first_line_ = false;
    scanner_.SkipLineEnds();
  }
  if (block_state_ == BlockState::kInBraces) {
    scanner_.Fail(block_start_, "this block does not end; expected a line with \"}\"");
  }
  absl::Status status = scanner_.status(file_name);
  if (!status.ok()) return status;
  return std::move(program_);
}

bool Parser::ParseLine() {
  if (!ParseStatement()) return false;
  return scanner_.AtEndOfLine() || scanner_.FailHere("the end of the line");
}

bool Parser::ParseStatement() {
  if (scanner_.Peek() == '}') return ParseBlockEnd();
  if (scanner_.AtWord("program")) return ParseHeader();
  if (scanner_.AtWord("block")) return ParseBlockStart();
  if (scanner_.AtWord("var")) return ParseVarLine();
  return ParseOpLine();
}

bool Parser::ParseHeader() {
  if (!at_first_line_) {
    return scanner_.Fail(scanner_.offset(),
                         "a program line in the middle; expected one at most, before all else");
  }
  scanner_.TryConsumeWord("program");
  while (!scanner_.AtEndOfLine()) {
    if (!ParseHeaderField()) return false;
  }
  return true;
}

bool Parser::ParseHeaderField() {
  if (scanner_.TryConsumeWord("retired_version")) {
    return ParseEquals("retired_version", program_.has_retired_version()) &&
           scanner_.ReadQuoted("quoted bytes", program_.mutable_retired_version());
  }
  if (scanner_.TryConsumeWord("retired_op_compatible_map")) {
    return ParseEquals("retired_op_compatible_map", program_.has_retired_op_compatible_map()) &&
           scanner_.ReadQuoted("quoted bytes", program_.mutable_retired_op_compatible_map());
  }
  if (scanner_.TryConsumeWord("version")) {
    if (!ParseEquals("version", program_.has_version())) return false;
    if (AtSerialized()) return ParseSerialized(program_.mutable_version());
    int64_t version;
    if (!scanner_.ReadInt64("a version number", &version)) return false;
    program_.mutable_version()->set_version(version);
    return true;
  }
  if (scanner_.TryConsumeWord("op_versions")) {
    if (!ParseEquals("op_versions", program_.has_op_version_map())) return false;
    OpVersionMap* versions = program_.mutable_op_version_map();
    if (AtSerialized()) return ParseSerialized(versions);
    return scanner_.Consume('{', "before the versions of ops, like {conv2d=1}") &&
           ParseSequence('}', [&] { return ParseOpVersion(versions); });
  }
  if (scanner_.TryConsumeWord("edit_log")) {
    if (!ParseEquals("edit_log", program_.has_edit_log())) return false;
    if (AtSerialized()) return ParseSerialized(program_.mutable_edit_log());
    return scanner_.FailHere("serialized and quoted bytes");
  }
  if (scanner_.AtWord("unknown")) return ParseUnknownFields(program_.mutable_unknown_fields());
  return scanner_.FailHere(
      "version, op_versions, retired_version, retired_op_compatible_map, edit_log or unknown");
}

bool Parser::ParseOpVersion(OpVersionMap* versions) {
  OpVersionMap::OpVersionPair* pair = versions->add_pair();
  absl::string_view name;
  int32_t version;
  if (!scanner_.ReadName("the type of an op", &name)) return false;
  pair->set_op_name(name.data(), name.size());
  if (!scanner_.Consume('=', "after the type of an op")) return false;
  if (!scanner_.ReadInt32("a version number", &version)) return false;
  pair->mutable_op_version()->set_version(version);
  return true;
}

bool Parser::ParseBlockStart() {
  const size_t start = scanner_.offset();
  if (block_state_ == BlockState::kImplied) {
    return scanner_.Fail(start,
                         "a block after lines that are in none; expected all of them in blocks");
  }
  if (block_state_ == BlockState::kInBraces) {
    return scanner_.Fail(start, "a block in a block; expected a line with \"}\" before it");
  }
  scanner_.TryConsumeWord("block");
  block_ = program_.add_blocks();
  if (AtSerialized()) return ParseSerialized(block_);
  int32_t number;
  if (!scanner_.ReadInt32("the index of the block", &number)) return false;
  block_->set_idx(number);
  while (!scanner_.TryConsumeBlockBrace('{')) {
    if (scanner_.TryConsumeWord("parent")) {
      if (!ParseEquals("parent", block_->has_parent_idx())) return false;
      if (!scanner_.ReadInt32("the index of a block", &number)) return false;
      block_->set_parent_idx(number);
    } else if (scanner_.TryConsumeWord("forward")) {
      if (!ParseEquals("forward", block_->has_forward_block_idx())) return false;
      if (!scanner_.ReadInt32("the index of a block", &number)) return false;
      block_->set_forward_block_idx(number);
    } else if (scanner_.AtWord("unknown")) {
      if (!ParseUnknownFields(block_->mutable_unknown_fields())) return false;
    } else {
      return scanner_.FailHere("parent=0, forward=0, unknown=\"...\" or \"{\"");
    }
  }
  if (!block_->has_parent_idx()) block_->set_parent_idx(-1);
  block_state_ = BlockState::kInBraces;
  block_start_ = start;
  return true;
}

bool Parser::ParseBlockEnd() {
  if (block_state_ != BlockState::kInBraces) {
    return scanner_.Fail(scanner_.offset(),
                         absl::StrCat("\"}\" ends no block; expected ", kStatement));
  }
  scanner_.TryConsumeBlockBrace('}');
  block_state_ = BlockState::kNone;
  return true;
}

BlockDesc* Parser::CurrentBlock() {
  if (block_state_ != BlockState::kNone) return block_;
  if (program_.blocks_size() > 0) {
    scanner_.Fail(scanner_.offset(),
                  "a line outside of the blocks; expected it before the \"}\" of one");
    return nullptr;
  }
  block_ = program_.add_blocks();
  block_->set_idx(0);
  block_->set_parent_idx(-1);
  block_state_ = BlockState::kImplied;
  return block_;
}

bool Parser::ParseVarLine() {
  BlockDesc* const block = CurrentBlock();
  if (block == nullptr) return false;
  scanner_.TryConsumeWord("var");
  return AtSerialized() ? ParseSerialized(block->add_vars()) : ParseVar(block->add_vars());
}

bool Parser::ParseVar(VarDesc* var) {
  absl::string_view name;
  if (!scanner_.ReadName("the name of a variable", &name)) return false;
  var->set_name(name.data(), name.size());
  uint32_t described = 0;
  if (!ParseType(var->mutable_type(), &described)) return false;
  while (!scanner_.AtEndOfLine() && scanner_.Peek() != '{') {
    if (!ParseVarProperty(var, &described)) return false;
  }
  if (!scanner_.TryConsume('{')) return true;
  return ParseSequence('}', [&] { return ParseVarAttr(var->add_attrs()); });
}

bool Parser::ParseType(VarType* type, uint32_t* described) {
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

bool Parser::ParseDescriptor(VarType::Type kind, VarType* type, uint32_t* described) {
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
             ParseSequence(')', [&] { return ParseLoDTensor(reader->add_lod_tensor()); });
    }
    case VarType::TUPLE: {
      VarType::Tuple* const tuple = type->mutable_tuple();
      return scanner_.Consume('(', "before the types of a tuple") && ParseSequence(')', [&] {
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

bool Parser::ParseTensor(VarType::TensorDesc* tensor) {
  const size_t start = scanner_.offset();
  absl::string_view name;
  if (!scanner_.ReadName("a tensor like f32[-1,10]", &name)) return false;
  const absl::optional<VarType::Type> type = FindType(name);
  if (!type.has_value()) {
    return scanner_.Fail(start, absl::StrCat("\"", name, "\" is not the type of an element; ",
                                             "expected the likes of f32, i64, u8 or bool"));
  }
  tensor->set_data_type(*type);
  return scanner_.Consume('[', "before the extents of a tensor") && ParseSequence(']', [&] {
           int64_t extent;
           if (!scanner_.ReadInt64("an extent", &extent)) return false;
           tensor->add_dims(extent);
           return true;
         });
}

template <typename LoDDesc>
bool Parser::ParseLoDTensor(LoDDesc* desc) {
  if (!ParseTensor(desc->mutable_tensor())) return false;
  if (!scanner_.TryConsumeWord("lod")) return true;
  int32_t level;
  if (!ParseEquals("lod", false) || !scanner_.ReadInt32("a level", &level)) return false;
  desc->set_lod_level(level);
  return true;
}

bool Parser::ParseVarProperty(VarDesc* var, uint32_t* described) {
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
  if (scanner_.TryConsume('=') && !ParseBool(&value)) return false;
  (var->*set)(value);
  return true;
}

bool Parser::ParseVarAttr(VarDesc::Attr* attr) {
  if (AtSerialized()) return ParseSerialized(attr);
  const size_t start = scanner_.offset();
  OpDesc::Attr parsed;
  if (!ParseAttr(&parsed)) return false;
  attr->set_name(parsed.name());
  attr->set_type(parsed.type());
  switch (parsed.type()) {
    case INT:
      attr->set_i(parsed.i());
      return true;
    case STRING:
      attr->set_s(parsed.s());
      return true;
    case INTS:
      attr->mutable_ints()->Swap(parsed.mutable_ints());
      return true;
    default:
      return scanner_.Fail(
          start, absl::StrCat("an attribute of a variable is no ", AttrTypeName(parsed.type()),
                              "; expected an int, a string or ints"));
  }
}

bool Parser::ParseOpLine() {
  if (!scanner_.AtName()) return scanner_.FailHere(kStatement);
  BlockDesc* const block = CurrentBlock();
  if (block == nullptr) return false;
  if (scanner_.TryConsumeWord("op")) {
    if (AtSerialized()) return ParseSerialized(block->add_ops());
    return scanner_.FailHere("serialized and quoted bytes");
  }
  return ParseOp(block->add_ops());
}

bool Parser::ParseOp(OpDesc* op) {
  absl::string_view type;
  if (!scanner_.ReadName("the type of an op", &type)) return false;
  op->set_type(type.data(), type.size());
  if (!ParseSlots(op->mutable_inputs())) return false;
  absl::string_view next = "-> (outputs), {attributes} or the end of the line";
  if (scanner_.TryConsumeArrow()) {
    if (!ParseSlots(op->mutable_outputs())) return false;
    next = "{attributes} or the end of the line";
  }
  if (scanner_.TryConsume('{')) {
    const auto parse_attr = [&] {
      OpDesc::Attr* const attr = op->add_attrs();
      return AtSerialized() ? ParseSerialized(attr) : ParseAttr(attr);
    };
    if (!ParseSequence('}', parse_attr)) return false;
    next = "the end of the line";
  }
  while (!scanner_.AtEndOfLine()) {
    if (scanner_.AtWord("unknown")) {
      if (!ParseUnknownFields(op->mutable_unknown_fields())) return false;
    } else if (!op->has_is_target() && scanner_.TryConsumeWord("is_target")) {
      bool value = true;
      if (scanner_.TryConsume('=') && !ParseBool(&value)) return false;
      op->set_is_target(value);
    } else {
      return scanner_.FailHere(next);
    }
  }
  return true;
}

template <typename Slots>
bool Parser::ParseSlots(Slots* slots) {
  return scanner_.Consume('(', "before the slots of an op, like (X=x)") &&
         ParseSequence(')', [&] { return ParseSlot(slots->Add()); });
}

bool Parser::ParseSlot(OpDesc::Var* slot) {
  if (AtSerialized()) return ParseSerialized(slot);
  absl::string_view name;
  if (!scanner_.ReadName("a slot: X=x, X=[] or X=[x, y]", &name)) return false;
  slot->set_parameter(name.data(), name.size());
  if (!scanner_.Consume('=', "after the name of a slot")) return false;
  const auto parse_argument = [&] {
    if (!scanner_.ReadName("the name of a variable", &name)) return false;
    slot->add_arguments(name.data(), name.size());
    return true;
  };
  return scanner_.TryConsume('[') ? ParseSequence(']', parse_argument) : parse_argument();
}

bool Parser::ParseAttr(OpDesc::Attr* attr) {
  absl::string_view name;
  if (!scanner_.ReadName("an attribute like axis=1", &name)) return false;
  attr->set_name(name.data(), name.size());
  return scanner_.Consume('=', "after the name of an attribute") && ParseValue(attr);
}

bool Parser::ParseValue(OpDesc::Attr* attr) {
  if (scanner_.PeekPastName() == '[') return ParseEmptyList(attr);
  if (scanner_.Peek() != '[') return ParseElement(false, attr);
  const size_t start = scanner_.offset();
  scanner_.TryConsume('[');
  if (scanner_.Peek() == ']') {
    return scanner_.Fail(start,
                         "an empty list without a type; expected ints[], floats[], "
                         "strings[] or the like");
  }
  return ParseSequence(']', [&] { return ParseElement(true, attr); });
}

bool Parser::ParseEmptyList(OpDesc::Attr* attr) {
  const size_t start = scanner_.offset();
  absl::string_view word;
  if (!scanner_.ReadName("the type of a list", &word)) return false;
  const absl::optional<AttrType> type = FindAttrType(word);
  if (!type.has_value() || !IsListType(*type)) {
    return scanner_.Fail(start, absl::StrCat("\"", word, "\" is not the type of a list; ",
                                             "expected ints, longs, floats, float64s, strings, "
                                             "booleans, blocks, vars or scalars"));
  }
  attr->set_type(*type);
  scanner_.TryConsume('[');
  return scanner_.Consume(']', "(elements show their type themselves, like [1, 2])");
}

bool Parser::SetElementType(AttrType element, bool in_list, size_t start, OpDesc::Attr* attr) {
  const AttrType type = in_list ? ListOf(element) : element;
  if (in_list && attr->has_type() && attr->type() != type) {
    return scanner_.Fail(
        start, absl::StrCat("an element of type ", AttrTypeName(element), " in a list of type ",
                            AttrTypeName(attr->type()), "; expected elements of one type"));
  }
  attr->set_type(type);
  return true;
}

bool Parser::ParseElement(bool in_list, OpDesc::Attr* attr) {
  const size_t start = scanner_.offset();
  if (scanner_.Peek() == '"') {
    return SetElementType(STRING, in_list, start, attr) &&
           scanner_.ReadQuoted("a string", in_list ? attr->add_strings() : attr->mutable_s());
  }
  if (scanner_.AtWord("true") || scanner_.AtWord("false")) {
    bool value;
    if (!SetElementType(BOOLEAN, in_list, start, attr) || !ParseBool(&value)) return false;
    in_list ? attr->add_bools(value) : attr->set_b(value);
    return true;
  }
  if (scanner_.AtNumber()) return ParseNumber(in_list, attr);
  if (scanner_.PeekPastName() != '(') return scanner_.FailHere(kValue);
  if (scanner_.TryConsumeWord("block")) {
    int32_t block;
    if (!SetElementType(BLOCK, in_list, start, attr) || !scanner_.TryConsume('(') ||
        !scanner_.ReadInt32("the index of a block", &block)) {
      return false;
    }
    in_list ? attr->add_blocks_idx(block) : attr->set_block_idx(block);
    return scanner_.Consume(')', "after the index of a block");
  }
  if (scanner_.TryConsumeWord("var")) {
    absl::string_view name;
    if (!SetElementType(VAR, in_list, start, attr) || !scanner_.TryConsume('(') ||
        !scanner_.ReadName("the name of a variable", &name)) {
      return false;
    }
    (in_list ? attr->add_vars_name() : attr->mutable_var_name())->assign(name.data(), name.size());
    return scanner_.Consume(')', "after the name of a variable");
  }
  if (scanner_.TryConsumeWord("scalar")) {
    return SetElementType(SCALAR, in_list, start, attr) && scanner_.TryConsume('(') &&
           ParseScalar(in_list ? attr->add_scalars() : attr->mutable_scalar()) &&
           scanner_.Consume(')', "after a scalar");
  }
  return scanner_.FailHere(kValue);
}

bool Parser::ParseNumber(bool in_list, OpDesc::Attr* attr) {
  const size_t start = scanner_.offset();
  TextScanner::Number number;
  if (!scanner_.ReadNumber(&number)) return false;
  if (!SetElementType(number.type, in_list, start, attr)) return false;
  const int32_t int32 = static_cast<int32_t>(number.integer);
  switch (number.type) {
    case INT:
      in_list ? attr->add_ints(int32) : attr->set_i(int32);
      break;
    case LONG:
      in_list ? attr->add_longs(number.integer) : attr->set_l(number.integer);
      break;
    case FLOAT:
      in_list ? attr->add_floats(number.float32) : attr->set_f(number.float32);
      break;
    default:
      in_list ? attr->add_float64s(number.float64) : attr->set_float64(number.float64);
  }
  return true;
}

bool Parser::ParseScalar(Scalar* scalar) {
  if (!scanner_.AtWord("true") && !scanner_.AtWord("false")) return ParseScalarNumber(scalar);
  bool value;
  if (!ParseBool(&value)) return false;
  scalar->set_type(Scalar::BOOLEAN);
  scalar->set_b(value);
  return true;
}

bool Parser::ParseScalarNumber(Scalar* scalar) {
  constexpr absl::string_view kScalar =
      "expected scalar(true), scalar(1L), scalar(1.0d) or scalar(1.0d, 1.0d)";
  const size_t start = scanner_.offset();
  TextScanner::Number number;
  if (!scanner_.ReadNumber(&number)) return false;
  if (number.type == LONG) {
    scalar->set_type(Scalar::LONG);
    scalar->set_i(number.integer);
    return true;
  }
  if (number.type != FLOAT64) {
    return scanner_.Fail(start,
                         absl::StrCat("a scalar is no ", AttrTypeName(number.type), "; ", kScalar));
  }
  if (!scanner_.TryConsume(',')) {
    scalar->set_type(Scalar::FLOAT64);
    scalar->set_r(number.float64);
    return true;
  }
  const size_t imaginary_start = scanner_.offset();
  TextScanner::Number imaginary;
  if (!scanner_.ReadNumber(&imaginary)) return false;
  if (imaginary.type != FLOAT64) {
    return scanner_.Fail(
        imaginary_start,
        absl::StrCat("the imaginary part is no ", AttrTypeName(imaginary.type), "; ", kScalar));
  }
  scalar->set_type(Scalar::COMPLEX128);
  scalar->mutable_c()->set_r(number.float64);
  scalar->mutable_c()->set_i(imaginary.float64);
  return true;
}

bool Parser::ParseBool(bool* value) {
  *value = scanner_.TryConsumeWord("true");
  return *value || scanner_.TryConsumeWord("false") || scanner_.FailHere("true or false");
}

bool Parser::ParseEquals(absl::string_view word, bool already_given) {
  if (already_given) {
    return scanner_.Fail(scanner_.offset(),
                         absl::StrCat(word, " is given twice; expected it once"));
  }
  return scanner_.Consume('=', absl::StrCat("after ", word));
}

bool Parser::ParseUnknownFields(google::protobuf::UnknownFieldSet* fields) {
  const size_t start = scanner_.offset();
  scanner_.TryConsumeWord("unknown");
  if (!ParseEquals("unknown", !fields->empty())) return false;
  if (!scanner_.ReadQuoted("quoted bytes", &quoted_)) return false;
  if (fields->ParseFromString(quoted_)) return true;
  return scanner_.Fail(start,
                       "these bytes are not a sequence of fields; expected protobuf's wire "
                       "format");
}

template <typename ParseOne>
bool Parser::ParseSequence(char close, ParseOne parse_one) {
  if (scanner_.TryConsume(close)) return true;
  while (true) {
    if (!parse_one()) return false;
    if (scanner_.TryConsume(close)) return true;
    if (!scanner_.TryConsume(',')) {
      return scanner_.FailHere(absl::StrCat("\",\" or \"", absl::string_view(&close, 1), "\""));
    }
  }
}

template <typename Message>
bool Parser::ParseSerialized(Message* message) {
  const size_t start = scanner_.offset();
  scanner_.TryConsumeWord("serialized");
  if (!scanner_.ReadQuoted("quoted bytes", &quoted_)) return false;
  if (message->ParsePartialFromString(quoted_)) return true;
  return scanner_.Fail(start, absl::StrCat("these bytes are no ", message->GetDescriptor()->name(),
                                           "; expected its protobuf wire format"));
}

}  // namespace

absl::StatusOr<ProgramDesc> ParseProgramText(absl::string_view text, absl::string_view file_name) {
  return Parser(text).Parse(file_name);
}

}  // namespace fixpoint
