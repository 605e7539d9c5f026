#include "transpiler/patterns/sum_reader.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/program/type_names.h"

namespace fixpoint {
namespace {

using Kind = SumTerm::Kind;
using Type = SumTerm::Type;

// Deeper parentheses than anybody writes.
constexpr int kMostParentheses = 32;

// The grammar by recursive descent. What reads a term gives its position, or -1 after an error.
class Parser {
 public:
  Parser(absl::string_view text, const SumNames& names, TextScanner* scanner, PatternSum* sum)
      : text_(text), names_(names), scanner_(*scanner), terms_(sum->terms) {}

  int ReadSum(int depth) {
    const size_t start = scanner_.offset();
    int term = ReadProduct(depth);
    while (term >= 0) {
      const size_t at = scanner_.offset();
      const char operation = scanner_.Peek();
      if (operation != '+' && operation != '-') break;
      scanner_.TryConsume(operation);
      const size_t right = scanner_.offset();
      term = AddArithmetic(operation, {term, start}, {ReadProduct(depth), right}, at);
    }
    return term;
  }

 private:
  // An operand and where it begins.
  struct Operand {
    int term;
    size_t start;
  };

  int Fail(size_t at, absl::string_view message) {
    scanner_.Fail(at, message);
    return -1;
  }

  int Add(SumTerm term, size_t start) {
    if (term.kind != Kind::kArithmetic && ++written_terms_ > kMostTerms) {
      return Fail(start, absl::StrCat("more than ", kMostTerms, " terms"));
    }
    if (term.named >= 0) term.written = TextBetween(text_, start, scanner_.offset());
    terms_.push_back(std::move(term));
    return static_cast<int>(terms_.size()) - 1;
  }

  int ReadProduct(int depth) {
    const size_t start = scanner_.offset();
    int term = ReadFactor(depth);
    while (term >= 0) {
      const size_t at = scanner_.offset();
      const char operation = scanner_.Peek();
      if (operation != '*' && operation != '/' && operation != '%') break;
      scanner_.TryConsume(operation);
      const size_t right = scanner_.offset();
      term = AddArithmetic(operation, {term, start}, {ReadFactor(depth), right}, at);
    }
    return term;
  }

  int AddArithmetic(char operation, const Operand& left, const Operand& right, size_t at) {
    if (right.term < 0) return -1;
    const SumTerm& a = terms_[left.term];
    const SumTerm& b = terms_[right.term];
    for (const SumTerm* operand : {&a, &b}) {
      if (operand->type != Type::kNumber) {
        return Fail(at, absl::StrCat(TypeOfTerm(operand->type), " in arithmetic; want numbers"));
      }
    }
    if (operation == '%' && !(a.is_integer && b.is_integer)) {
      return Fail(at, absl::StrCat(a.is_integer ? TextBetween(text_, right.start, scanner_.offset())
                                                : TextBetween(text_, left.start, at),
                                   " is no integer; % is the remainder of integers"));
    }
    SumTerm term;
    term.kind = Kind::kArithmetic;
    term.is_integer = a.is_integer && b.is_integer && operation != '/';
    term.is_float = a.is_float || b.is_float;
    term.operation = operation;
    term.left = left.term;
    term.right = right.term;
    return Add(std::move(term), left.start);
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
    SumTerm term;
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
    if (scanner_.AtOperand()) return ReadNumber(start);
    if (scanner_.Peek() == '-') {
      return Fail(start, "a sign is part of a number; want the likes of -1, or 0 - $NAME");
    }
    if (scanner_.TryConsumeWord("extent")) return ReadProperty(Kind::kExtent, start);
    if (scanner_.TryConsumeWord("rank")) return ReadProperty(Kind::kRank, start);
    if (scanner_.TryConsumeWord("readers")) return ReadProperty(Kind::kReaders, start);
    scanner_.FailHere(
        "a number, a string, true, false, $NAME, extent(NAME, AXIS), rank(NAME) or readers(NAME)");
    return -1;
  }

  int ReadNumber(size_t start) {
    TextScanner::Number number;
    if (!scanner_.ReadOperand(&number)) return -1;
    SumTerm term;
    term.is_integer = number.type == AttrType::INT || number.type == AttrType::LONG;
    term.is_float = number.type == AttrType::FLOAT;
    term.integer = number.integer;
    term.number = term.is_float ? number.float32 : number.float64;
    return Add(std::move(term), start);
  }

  int ReadAttribute(size_t start) {
    absl::string_view name;
    if (!scanner_.ReadWord("the name of an attribute's value after $", &name)) return -1;
    const std::string variable = absl::StrCat("$", name);
    const std::optional<SumNames::Attribute> known = names_.attribute(variable);
    if (!known) {
      return Fail(start,
                  absl::StrCat("no attribute of `before` is \"", variable, "\"; want one that is"));
    }
    SumTerm term;
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
                                        "; want a number, a string or a boolean"));
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
    SumTerm term;
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
  const SumNames& names_;
  TextScanner& scanner_;
  std::vector<SumTerm>& terms_;
  int written_terms_ = 0;  // all but those of operations
};

}  // namespace

const char* TypeOfTerm(Type type) {
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

std::string TextBetween(absl::string_view text, size_t start, size_t end) {
  std::string between;
  bool in_quotes = false;
  bool in_comment = false;
  bool is_escaped = false;
  for (size_t i = start; i < end; ++i) {
    const char c = text[i];
    if (c == '"' && !in_comment && !is_escaped) in_quotes = !in_quotes;
    is_escaped = in_quotes && c == '\\' && !is_escaped;
    in_comment = c != '\n' && (in_comment || (c == '#' && !in_quotes));
    if (!in_comment) between.push_back(c == '\n' ? ' ' : c);
  }
  return std::string(absl::StripAsciiWhitespace(between));
}

bool ReadSum(absl::string_view text, const SumNames& names, TextScanner* scanner, PatternSum* sum) {
  return Parser(text, names, scanner, sum).ReadSum(0) >= 0;
}

absl::StatusOr<PatternSum> ParseSum(absl::string_view text, absl::string_view place,
                                    const SumNames& names) {
  TextScanner scanner(text);
  PatternSum sum;
  if (const size_t comment = text.find('#'); comment != absl::string_view::npos) {
    scanner.Fail(comment, "a comment in quotes; want it after them");
  } else if (ReadSum(text, names, &scanner, &sum) && !scanner.AtEnd()) {
    scanner.FailHere("+, -, *, /, % or the end of the text");
  }
  if (const TextScanner::Error* const error = scanner.first_error()) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, "character ", error->offset + 1, ": ", error->message));
  }
  return sum;
}

}  // namespace fixpoint
