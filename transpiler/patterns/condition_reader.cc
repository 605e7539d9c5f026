#include "transpiler/patterns/condition_reader.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "proto/text/text_scanner.h"

namespace fixpoint {
namespace {

using Kind = ConditionTerm::Kind;
using Type = ConditionTerm::Type;

// Deeper parentheses than anybody writes.
constexpr int kMostParentheses = 32;

const char* Name(Type type) {
  switch (type) {
    case Type::kNumber:
      return "a number";
    case Type::kText:
      return "a string";
    case Type::kTruth:
      return "a boolean";
  }
  return "";
}

// The grammar by recursive descent. What reads a term gives its position, or -1 after an error.
class ConditionParser {
 public:
  ConditionParser(const TextSection& section, const ConditionNames& names)
      : text_(section.text), scanner_(section.text, section.first_line), names_(names) {}

  absl::StatusOr<std::vector<PatternCondition>> Read(absl::string_view file_name) {
    std::vector<PatternCondition> conditions;
    scanner_.SkipLineEnds();
    if (scanner_.AtEnd()) scanner_.FailHere("a condition, like $c == 1");
    while (!scanner_.AtEnd()) {
      condition_ = PatternCondition();
      if (!ReadCondition() && !scanner_.Recover()) break;
      conditions.push_back(std::move(condition_));
      scanner_.SkipLineEnds();
    }
    RETURN_IF_ERROR(scanner_.status(file_name));
    return conditions;
  }

 private:
  bool ReadCondition() {
    const size_t start = scanner_.offset();
    condition_.line = scanner_.LineOf(start);
    condition_.left = ReadSum(0);
    if (condition_.left < 0) return false;
    const size_t at = scanner_.offset();
    if (!ReadComparison()) return false;
    condition_.right = ReadSum(0);
    if (condition_.right < 0) return false;
    condition_.text = TextSince(start);
    if (!scanner_.AtEndOfLine()) return scanner_.FailHere("the end of the line");
    const Type left = condition_.terms[condition_.left].type;
    const Type right = condition_.terms[condition_.right].type;
    if (left != right) {
      return scanner_.Fail(at, absl::StrCat("compares ", Name(left), " with ", Name(right),
                                            "; want both of one type"));
    }
    const bool is_equality = condition_.comparison == Comparison::kEqual ||
                             condition_.comparison == Comparison::kUnequal;
    if (left != Type::kNumber && !is_equality) {
      return scanner_.Fail(at, absl::StrCat(Name(left),
                                            " is equal to another or not; want == or "
                                            "!= between them"));
    }
    return true;
  }

  // What was read, on one line and without comments.
  std::string TextSince(size_t start) const {
    std::string text;
    bool in_quotes = false;
    bool in_comment = false;
    for (size_t i = start; i < scanner_.offset(); ++i) {
      const char c = text_[i];
      const bool is_escaped = i > start && text_[i - 1] == '\\';
      if (c == '"' && !in_comment && !is_escaped) in_quotes = !in_quotes;
      in_comment = c != '\n' && (in_comment || (c == '#' && !in_quotes));
      if (!in_comment) text.push_back(c == '\n' ? ' ' : c);
    }
    return std::string(absl::StripAsciiWhitespace(text));
  }

  bool ReadComparison() {
    const bool less = scanner_.TryConsume('<');
    const bool greater = !less && scanner_.TryConsume('>');
    const bool other = !less && !greater && scanner_.TryConsume('!');
    const bool equal = scanner_.TryConsume('=');
    if (less) {
      condition_.comparison = equal ? Comparison::kAtMost : Comparison::kLess;
    } else if (greater) {
      condition_.comparison = equal ? Comparison::kAtLeast : Comparison::kGreater;
    } else if (equal && (other || scanner_.TryConsume('='))) {
      condition_.comparison = other ? Comparison::kUnequal : Comparison::kEqual;
    } else {
      return scanner_.FailHere("==, !=, <, <=, > or >=");
    }
    return true;
  }

  int Add(ConditionTerm term, size_t start) {
    if (term.text.empty()) term.text = TextSince(start);
    condition_.terms.push_back(std::move(term));
    return static_cast<int>(condition_.terms.size()) - 1;
  }
  int Fail(size_t at, absl::string_view message) {
    scanner_.Fail(at, message);
    return -1;
  }

  int ReadSum(int depth) {
    const size_t start = scanner_.offset();
    int term = ReadProduct(depth);
    while (term >= 0) {
      const size_t at = scanner_.offset();
      if (scanner_.TryConsume('+')) {
        term = AddArithmetic('+', term, ReadProduct(depth), start, at);
      } else if (scanner_.TryConsume('-')) {
        term = AddArithmetic('-', term, ReadProduct(depth), start, at);
      } else {
        break;
      }
    }
    return term;
  }

  int ReadProduct(int depth) {
    const size_t start = scanner_.offset();
    int term = ReadFactor(depth);
    while (term >= 0) {
      const size_t at = scanner_.offset();
      const char operation = scanner_.Peek();
      if (operation != '*' && operation != '/' && operation != '%') break;
      scanner_.TryConsume(operation);
      term = AddArithmetic(operation, term, ReadFactor(depth), start, at);
    }
    return term;
  }

  int AddArithmetic(char operation, int left, int right, size_t start, size_t at) {
    if (right < 0) return -1;
    const ConditionTerm& a = condition_.terms[left];
    const ConditionTerm& b = condition_.terms[right];
    for (const ConditionTerm* operand : {&a, &b}) {
      if (operand->type != Type::kNumber) {
        return Fail(at, absl::StrCat(Name(operand->type), " in arithmetic; want numbers"));
      }
      if (operation == '%' && !operand->is_integer) {
        return Fail(at, absl::StrCat(operand->text,
                                     " is no integer; % is the remainder of "
                                     "integers"));
      }
    }
    ConditionTerm term;
    term.kind = Kind::kArithmetic;
    term.is_integer = a.is_integer && b.is_integer && operation != '/';
    term.is_float = a.is_float || b.is_float;
    term.operation = operation;
    term.left = left;
    term.right = right;
    return Add(std::move(term), start);
  }

  int ReadFactor(int depth) {
    const size_t start = scanner_.offset();
    if (scanner_.TryConsume('(')) {
      if (depth == kMostParentheses) {
        return Fail(start, absl::StrCat("more than ", kMostParentheses, " parentheses"));
      }
      const int term = ReadSum(depth + 1);
      return term >= 0 && scanner_.Consume(')', "after a term") ? term : -1;
    }
    ConditionTerm term;
    if (scanner_.TryConsume('$')) return ReadAttribute(start);
    if (scanner_.Peek() == '"') {
      term.kind = Kind::kText;
      term.type = Type::kText;
      return scanner_.ReadQuoted("a string", &term.text) ? Add(std::move(term), start) : -1;
    }
    if (scanner_.AtWord("true") || scanner_.AtWord("false")) {
      term.kind = Kind::kTruth;
      term.type = Type::kTruth;
      return scanner_.ReadBool(&term.truth) ? Add(std::move(term), start) : -1;
    }
    if (scanner_.AtNumber()) return ReadNumber(start);
    if (scanner_.TryConsumeWord("extent")) return ReadProperty(Kind::kExtent, start);
    if (scanner_.TryConsumeWord("rank")) return ReadProperty(Kind::kRank, start);
    if (scanner_.TryConsumeWord("readers")) return ReadProperty(Kind::kReaders, start);
    scanner_.FailHere(
        "a number, a string, true, false, $NAME, extent(NAME, AXIS), rank(NAME) or readers(NAME)");
    return -1;
  }

  int ReadNumber(size_t start) {
    TextScanner::Number number;
    if (!scanner_.ReadNumber(&number)) return -1;
    ConditionTerm term;
    term.is_integer = number.type == AttrType::INT || number.type == AttrType::LONG;
    term.number = term.is_integer                  ? static_cast<double>(number.integer)
                  : number.type == AttrType::FLOAT ? number.float32
                                                   : number.float64;
    term.is_float = number.type == AttrType::FLOAT;
    return Add(std::move(term), start);
  }

  int ReadAttribute(size_t start) {
    absl::string_view name;
    if (!scanner_.ReadName("the name of an attribute's value after $", &name)) return -1;
    const std::string variable = absl::StrCat("$", name);
    const std::optional<ConditionNames::Attribute> known = names_.attribute(variable);
    if (!known) {
      return Fail(start, absl::StrCat("no attribute of `before` is \"", variable,
                                      "\"; want one that is (a name ends at a blank)"));
    }
    ConditionTerm term;
    term.kind = Kind::kAttribute;
    term.named = known->variable;
    switch (known->type) {
      case AttrType::INT:
      case AttrType::LONG:
        term.is_integer = true;
        break;
      case AttrType::FLOAT:
        term.is_float = true;
        break;
      case AttrType::FLOAT64:
        break;
      case AttrType::STRING:
        term.type = Type::kText;
        break;
      case AttrType::BOOLEAN:
        term.type = Type::kTruth;
        break;
      default:
        return Fail(start, absl::StrCat(variable, " is of type ", AttrTypeName(known->type),
                                        "; conditions are on numbers, strings and booleans"));
    }
    return Add(std::move(term), start);
  }

  int ReadProperty(Kind kind, size_t start) {
    if (!scanner_.Consume('(', "before the name of a value")) return -1;
    const size_t at = scanner_.offset();
    absl::string_view name;
    if (!scanner_.ReadName("the name of a value", &name)) return -1;
    const std::optional<int> known = names_.value(name);
    if (!known) return Fail(at, absl::StrCat("no op of `before` names \"", name, "\""));
    ConditionTerm term;
    term.kind = kind;
    term.is_integer = true;
    term.named = *known;
    if (kind == Kind::kExtent) {
      int32_t axis = 0;
      if (!scanner_.Consume(',', "and an axis after the name of a value") ||
          !scanner_.ReadInt32("an axis", &axis)) {
        return -1;
      }
      term.axis = axis;
    }
    if (!scanner_.Consume(')', "at the end")) return -1;
    return Add(std::move(term), start);
  }

  const absl::string_view text_;
  TextScanner scanner_;
  const ConditionNames& names_;
  PatternCondition condition_;
};

}  // namespace

absl::StatusOr<std::vector<PatternCondition>> ReadConditions(const TextSection& section,
                                                             absl::string_view file_name,
                                                             const ConditionNames& names) {
  return ConditionParser(section, names).Read(file_name);
}

}  // namespace fixpoint
