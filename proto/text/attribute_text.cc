#include "proto/text/attribute_text.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "proto/program/type_names.h"
#include "proto/text/text_lexemes.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kValue =
    "a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), var(x), "
    "scalar(1L), or a list of these like [1, 2] or ints[]";

// The type of a list of `element`. REQUIRES: `element` is no list itself.
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
      return element;
  }
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

// Parses what follows the name of an op's attribute.
class ValueParser {
 public:
  ValueParser(TextScanner* scanner, OpDesc::Attr* attr) : scanner_(*scanner), attr_(*attr) {}

  bool Parse();

 private:
  bool ParseEmptyList();
  bool ParseElement();
  // Parse what follows the words `block` and `var`, which stood at `start`.
  bool ParseBlockReference(size_t start);
  bool ParseVarReference(size_t start);
  bool ParseNumber();
  bool ParseScalar(Scalar* scalar);
  bool ParseScalarNumber(Scalar* scalar);

  // Gives the attribute the type of the element that stood at `start`.
  bool SetElementType(AttrType element, size_t start);

  TextScanner& scanner_;
  OpDesc::Attr& attr_;
  bool in_list_ = false;
};

bool ValueParser::Parse() {
  if (scanner_.PeekPastName() == '[') return ParseEmptyList();
  if (scanner_.Peek() != '[') return ParseElement();
  const size_t start = scanner_.offset();
  scanner_.TryConsume('[');
  if (scanner_.Peek() == ']') {
    return scanner_.Fail(start,
                         "an empty list without a type; expected ints[], floats[], "
                         "strings[] or the like");
  }
  in_list_ = true;
  return scanner_.ReadSequence(']', [&] { return ParseElement(); });
}

bool ValueParser::ParseEmptyList() {
  const size_t start = scanner_.offset();
  absl::string_view word;
  if (!scanner_.ReadName("the type of a list", &word)) return false;
  const absl::optional<AttrType> type = FindAttrType(word);
  if (!type.has_value() || !IsListType(*type)) {
    return scanner_.Fail(start, absl::StrCat("\"", word, "\" is not the type of a list; ",
                                             "expected ints, longs, floats, float64s, strings, "
                                             "booleans, blocks, vars or scalars"));
  }
  attr_.set_type(*type);
  scanner_.TryConsume('[');
  return scanner_.Consume(']', "(elements show their type themselves, like [1, 2])");
}

bool ValueParser::SetElementType(AttrType element, size_t start) {
  const AttrType type = in_list_ ? ListOf(element) : element;
  if (in_list_ && attr_.has_type() && attr_.type() != type) {
    return scanner_.Fail(
        start, absl::StrCat("an element of type ", AttrTypeName(element), " in a list of type ",
                            AttrTypeName(attr_.type()), "; expected elements of one type"));
  }
  attr_.set_type(type);
  return true;
}

bool ValueParser::ParseElement() {
  const size_t start = scanner_.offset();
  if (scanner_.Peek() == '"') {
    return SetElementType(STRING, start) &&
           scanner_.ReadQuoted("a string", in_list_ ? attr_.add_strings() : attr_.mutable_s());
  }
  if (scanner_.AtWord("true") || scanner_.AtWord("false")) {
    bool value;
    if (!SetElementType(BOOLEAN, start) || !scanner_.ReadBool(&value)) return false;
    in_list_ ? attr_.add_bools(value) : attr_.set_b(value);
    return true;
  }
  if (scanner_.AtNumber()) return ParseNumber();
  if (scanner_.PeekPastName() != '(') return scanner_.FailHere(kValue);
  if (scanner_.TryConsumeWord("block")) return ParseBlockReference(start);
  if (scanner_.TryConsumeWord("var")) return ParseVarReference(start);
  if (scanner_.TryConsumeWord("scalar")) {
    return SetElementType(SCALAR, start) && scanner_.TryConsume('(') &&
           ParseScalar(in_list_ ? attr_.add_scalars() : attr_.mutable_scalar()) &&
           scanner_.Consume(')', "after a scalar");
  }
  return scanner_.FailHere(kValue);
}

bool ValueParser::ParseBlockReference(size_t start) {
  int32_t block;
  if (!SetElementType(BLOCK, start) || !scanner_.TryConsume('(') ||
      !scanner_.ReadInt32("the index of a block", &block)) {
    return false;
  }
  in_list_ ? attr_.add_blocks_idx(block) : attr_.set_block_idx(block);
  return scanner_.Consume(')', "after the index of a block");
}

bool ValueParser::ParseVarReference(size_t start) {
  absl::string_view name;
  if (!SetElementType(VAR, start) || !scanner_.TryConsume('(') ||
      !scanner_.ReadName("the name of a variable", &name)) {
    return false;
  }
  (in_list_ ? attr_.add_vars_name() : attr_.mutable_var_name())->assign(name.data(), name.size());
  return scanner_.Consume(')', "after the name of a variable");
}

bool ValueParser::ParseNumber() {
  const size_t start = scanner_.offset();
  TextScanner::Number number;
  if (!scanner_.ReadNumber(&number)) return false;
  if (!SetElementType(number.type, start)) return false;
  const int32_t int32 = static_cast<int32_t>(number.integer);
  switch (number.type) {
    case INT:
      in_list_ ? attr_.add_ints(int32) : attr_.set_i(int32);
      break;
    case LONG:
      in_list_ ? attr_.add_longs(number.integer) : attr_.set_l(number.integer);
      break;
    case FLOAT:
      in_list_ ? attr_.add_floats(number.float32) : attr_.set_f(number.float32);
      break;
    default:
      in_list_ ? attr_.add_float64s(number.float64) : attr_.set_float64(number.float64);
  }
  return true;
}

bool ValueParser::ParseScalar(Scalar* scalar) {
  if (!scanner_.AtWord("true") && !scanner_.AtWord("false")) return ParseScalarNumber(scalar);
  bool value;
  if (!scanner_.ReadBool(&value)) return false;
  scalar->set_type(Scalar::BOOLEAN);
  scalar->set_b(value);
  return true;
}

bool ValueParser::ParseScalarNumber(Scalar* scalar) {
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

}  // namespace

void AppendAttr(const OpDesc::Attr& attr, std::string* text) {
  if (!IsPlainAttr(attr)) return AppendSerialized(attr, text);
  AppendName(attr.name(), text);
  text->push_back('=');
  AppendValue(attr, text);
}

// A variable's attribute has three kinds of value, under field numbers other than an op's.
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

void AppendAttrValue(const OpDesc::Attr& attr, std::string* text) {
  IsPlainAttr(attr) ? AppendValue(attr, text) : AppendSerialized(attr, text);
}

bool ParseAttr(TextScanner* scanner, OpDesc::Attr* attr) {
  if (scanner->AtSerialized()) return scanner->ReadSerialized(attr);
  absl::string_view name;
  if (!scanner->ReadName("an attribute like axis=1", &name)) return false;
  attr->set_name(name.data(), name.size());
  return scanner->Consume('=', "after the name of an attribute") &&
         ValueParser(scanner, attr).Parse();
}

bool ParseAttr(TextScanner* scanner, VarDesc::Attr* attr) {
  if (scanner->AtSerialized()) return scanner->ReadSerialized(attr);
  const size_t start = scanner->offset();
  OpDesc::Attr parsed;
  if (!ParseAttr(scanner, &parsed)) return false;
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
      return scanner->Fail(
          start, absl::StrCat("an attribute of a variable is no ", AttrTypeName(parsed.type()),
                              "; expected an int, a string or ints"));
  }
}

std::optional<OpDesc::Attr> AttrOfText(absl::string_view text) {
  TextScanner scanner(text);
  OpDesc::Attr attr;
  if (!ParseAttr(&scanner, &attr) || !scanner.AtEnd()) return std::nullopt;
  return attr;
}

}  // namespace fixpoint
