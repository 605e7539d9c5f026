#include "proto/text/text_scanner.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/text/text_lexemes.h"

namespace fixpoint {
namespace {

constexpr size_t kMaxErrors = 20;
constexpr size_t kMaxQuotedInError = 40;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsNumberStart(char c) { return IsDigit(c) || c == '-' || c == '.'; }

bool IsNumberChar(char c) {
  return IsDigit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

// Whether a sign at `at` is that of an exponent.
bool IsExponentSign(absl::string_view text, size_t at) {
  return at > 0 && (text[at - 1] == 'e' || text[at - 1] == 'E');
}

bool IsSpecialFloat(absl::string_view word) {
  return word == "inf" || word == "infd" || word == "nan" || word == "nand";
}

bool IsOperator(char c) { return c == '+' || c == '-' || c == '/'; }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `bytes` as an error message shows them.
std::string Shown(absl::string_view bytes) {
  std::string text;
  AppendQuoted(bytes.substr(0, kMaxQuotedInError), &text);
  if (bytes.size() > kMaxQuotedInError) text.append("...");
  return text;
}

template <typename Float, typename Bits>
Float FromBits(Bits bits) {
  static_assert(sizeof(Float) == sizeof(Bits));
  Float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

TextScanner::TextScanner(absl::string_view text, int first_line)
    : text_(text), first_line_(first_line) {
  SkipBlanks();
}

void TextScanner::SkipBlanks() {
  const char* const end = text_.data() + text_.size();
  const char* at = text_.data() + offset_;
  for (; at != end; ++at) {
    if (*at == '#') at = std::find(at, end, '\n');
    if (at == end) break;
    if (!IsBlank(*at) && !(*at == '\n' && open_brackets_ > 0)) break;
  }
  offset_ = at - text_.data();
}

void TextScanner::Advance(size_t count) {
  offset_ += count;
  SkipBlanks();
}

void TextScanner::SkipLineEnds() {
  while (Peek() == '\n') Advance(1);
}

absl::string_view TextScanner::BareNameHere() const {
  const absl::string_view rest = text_.substr(offset_);
  if (rest.empty() || !IsNameStart(rest[0])) return {};
  size_t length = 1;
  while (length < rest.size() && IsNameChar(rest[length])) ++length;
  return rest.substr(0, length);
}

char TextScanner::PeekPastName() const {
  size_t at = offset_ + BareNameHere().size();
  if (at == offset_) return '\0';
  while (at < text_.size() && IsBlank(text_[at])) ++at;
  return at < text_.size() ? text_[at] : '\0';
}

bool TextScanner::AtWord(absl::string_view word) const { return BareNameHere() == word; }

bool TextScanner::AtName() const { return Peek() == '"' || IsNameStart(Peek()); }

bool TextScanner::AtNumber() const {
  return IsNumberStart(Peek()) || IsSpecialFloat(BareNameHere());
}

bool TextScanner::AtOperand() const {
  if (Peek() != '-') return IsNumberStart(Peek()) || IsSpecialFloat(WordHere());
  const char next = offset_ + 1 < text_.size() ? text_[offset_ + 1] : '\0';
  return IsDigit(next) || next == '.' || next == 'i';
}

bool TextScanner::AtSerialized() const { return AtWord("serialized") && PeekPastName() == '"'; }

bool TextScanner::TryConsume(char c) {
  if (AtEnd() || text_[offset_] != c) return false;
  if (c == '(' || c == '[' || c == '{') ++open_brackets_;
  if (c == ')' || c == ']' || c == '}') --open_brackets_;
  Advance(1);
  return true;
}

bool TextScanner::TryConsumeWord(absl::string_view word) {
  if (!AtWord(word)) return false;
  Advance(word.size());
  return true;
}

bool TextScanner::TryConsumeSymbol(absl::string_view symbol) {
  if (!absl::StartsWith(text_.substr(offset_), symbol)) return false;
  Advance(symbol.size());
  return true;
}

bool TextScanner::TryConsumeBlockBrace(char brace) {
  if (Peek() != brace) return false;
  Advance(1);
  return true;
}

bool TextScanner::Consume(char c, absl::string_view where) {
  if (TryConsume(c)) return true;
  return FailHere(absl::StrCat("\"", absl::string_view(&c, 1), "\" ", where));
}

bool TextScanner::ConsumeEquals(absl::string_view property, bool already_given) {
  if (already_given) {
    return Fail(offset(), absl::StrCat(property, " is given twice; expected it once"));
  }
  return Consume('=', absl::StrCat("after ", property));
}

bool TextScanner::ReadName(absl::string_view what, absl::string_view* name) {
  if (Peek() == '"') {
    if (!Unquote(what, &unquoted_)) return false;
    *name = unquoted_;
    return true;
  }
  *name = BareNameHere();
  if (name->empty()) return FailHere(what);
  Advance(name->size());
  return true;
}

absl::string_view TextScanner::WordHere() const {
  const absl::string_view rest = text_.substr(offset_);
  size_t length = 0;
  while (length < rest.size() && (absl::ascii_isalnum(rest[length]) || rest[length] == '_')) {
    ++length;
  }
  return rest.substr(0, length);
}

bool TextScanner::ReadWord(absl::string_view what, absl::string_view* word) {
  *word = WordHere();
  if (word->empty()) return FailHere(what);
  Advance(word->size());
  return true;
}

bool TextScanner::ReadQuoted(absl::string_view what, std::string* bytes) {
  if (Peek() != '"') return FailHere(what);
  return Unquote(what, bytes);
}

bool TextScanner::Unquote(absl::string_view what, std::string* bytes) {
  const size_t start = offset_;
  bool valid = true;
  bytes->clear();
  ++offset_;
  while (true) {
    const size_t special = text_.find_first_of("\"\\\n", offset_);
    if (special == absl::string_view::npos || text_[special] == '\n') {
      return Fail(start, absl::StrCat(what, " begins here and does not end on its line; ",
                                      "expected a closing \", and \\n for a line end"));
    }
    bytes->append(text_.data() + offset_, special - offset_);
    offset_ = special + 1;
    if (text_[special] == '"') break;
    valid = ReadEscape(bytes) && valid;
  }
  SkipBlanks();
  return valid;
}

bool TextScanner::ReadEscape(std::string* bytes) {
  const char c = Peek();
  if (c == '"' || c == '\\') {
    bytes->push_back(c);
  } else if (c == 'n') {
    bytes->push_back('\n');
  } else if (c == 't') {
    bytes->push_back('\t');
  } else if (c == 'x') {
    const absl::string_view digits = text_.substr(offset_ + 1, 2);
    const int high = digits.size() == 2 ? HexDigit(digits[0]) : -1;
    const int low = digits.size() == 2 ? HexDigit(digits[1]) : -1;
    if (high < 0 || low < 0) {
      return Fail(offset_ - 1, "\\x without two hexadecimal digits; expected the likes of \\x0a");
    }
    bytes->push_back(static_cast<char>(high * 16 + low));
    offset_ += 2;
  } else {
    return Fail(offset_ - 1,
                "a backslash that escapes nothing; expected \\\\, \\\", \\n, \\t or \\xHH");
  }
  ++offset_;
  return true;
}

template <typename Integer>
bool TextScanner::ReadInteger(absl::string_view what, Integer* value) {
  const char* const start = text_.data() + offset_;
  const char* const end = text_.data() + text_.size();
  const std::from_chars_result result = std::from_chars(start, end, *value);
  if (result.ec == std::errc::result_out_of_range) {
    return Fail(offset_, absl::StrCat(Shown({start, static_cast<size_t>(result.ptr - start)}),
                                      " is out of range; expected ", what, " of ",
                                      8 * sizeof(Integer), " bits"));
  }
  if (result.ec != std::errc()) return FailHere(what);
  if (result.ptr != end && IsNameChar(*result.ptr)) return FailHere(what);
  Advance(result.ptr - start);
  return true;
}

bool TextScanner::ReadInt32(absl::string_view what, int32_t* value) {
  return ReadInteger(what, value);
}

bool TextScanner::ReadInt64(absl::string_view what, int64_t* value) {
  return ReadInteger(what, value);
}

bool TextScanner::ReadNumber(Number* number) { return ReadNumber(/*is_operand=*/false, number); }
bool TextScanner::ReadOperand(Number* number) { return ReadNumber(/*is_operand=*/true, number); }

bool TextScanner::ReadNumber(bool is_operand, Number* number) {
  const size_t start = offset_;
  size_t end = start + (Peek() == '-' ? 1 : 0);
  if (end < text_.size() && (text_[end] == 'i' || text_[end] == 'n')) {
    offset_ = end;
    return ReadSpecialFloat(end > start, is_operand ? WordHere() : BareNameHere(), number);
  }
  bool is_integer = true;
  for (; end < text_.size() && IsNumberChar(text_[end]); ++end) {
    if (is_operand && IsOperator(text_[end]) && !IsExponentSign(text_, end)) break;
    is_integer = is_integer && (IsDigit(text_[end]) || text_[end] == '-');
  }
  const char suffix = end < text_.size() ? text_[end] : '\0';
  const char* const first = text_.data() + start;
  const char* const last = text_.data() + end;
  std::from_chars_result result;
  if (is_integer && suffix != 'd') {
    result = std::from_chars(first, last, number->integer);
    number->type = suffix == 'L' ? LONG : INT;
  } else if (suffix == 'd') {
    result = std::from_chars(first, last, number->float64);
    number->type = FLOAT64;
  } else {
    result = std::from_chars(first, last, number->float32);
    number->type = FLOAT;
  }
  if (suffix == 'd' || number->type == LONG) ++end;
  const absl::string_view token = text_.substr(start, end - start);
  const bool too_long_for_int =
      number->type == INT && (number->integer < std::numeric_limits<int32_t>::min() ||
                              number->integer > std::numeric_limits<int32_t>::max());
  if (result.ec == std::errc::result_out_of_range || too_long_for_int) {
    return Fail(start, absl::StrCat(Shown(token), " is out of range; expected ",
                                    number->type == INT    ? "an int of 32 bits, or a long, like 1L"
                                    : number->type == LONG ? "a long of 64 bits"
                                    : number->type == FLOAT ? "a float, or a double, like 1.0d"
                                                            : "a double"));
  }
  if (result.ec != std::errc() || result.ptr != last ||
      (end < text_.size() && IsNameChar(text_[end]) && !(is_operand && IsOperator(text_[end])))) {
    return FailHere("a number: 1, 1L, 1.0 or 1.0d");
  }
  Advance(end - start);
  return true;
}

bool TextScanner::ReadBool(bool* value) {
  *value = TryConsumeWord("true");
  return *value || TryConsumeWord("false") || FailHere("true or false");
}

bool TextScanner::ReadSerialized(google::protobuf::Message* message) {
  const size_t start = offset_;
  TryConsumeWord("serialized");
  if (Peek() != '"') return FailHere("quoted bytes");
  if (!Unquote("a message", &unquoted_)) return false;
  if (message->ParsePartialFromString(unquoted_)) return true;
  return Fail(start, absl::StrCat("these bytes are no ", message->GetDescriptor()->name(),
                                  "; expected its protobuf wire format"));
}

bool TextScanner::FailInSequence(char close) {
  return FailHere(absl::StrCat("\",\" or \"", absl::string_view(&close, 1), "\""));
}

bool TextScanner::ReadSpecialFloat(bool negative, absl::string_view word, Number* number) {
  const size_t start = offset_ - (negative ? 1 : 0);
  const bool is_nan = absl::StartsWith(word, "nan");
  if (!IsSpecialFloat(word) || (is_nan && negative)) {
    offset_ = start;
    return FailHere("a number: 1, 1L, 1.0 or 1.0d");
  }
  number->type = word.size() == 4 ? FLOAT64 : FLOAT;
  Advance(word.size());
  if (!is_nan) {
    number->float32 = std::numeric_limits<float>::infinity() * (negative ? -1 : 1);
    number->float64 = number->float32;
    return true;
  }
  uint64_t bits = 0;
  bool has_bits = false;
  if (number->type == FLOAT) {
    if (!ReadNanBits(&bits, &has_bits)) return false;
    if (has_bits && TryConsumeWord("d")) number->type = FLOAT64;
  }
  if (!has_bits) bits = number->type == FLOAT ? kPlainNan : kPlainNan64;
  number->float32 = FromBits<float>(static_cast<uint32_t>(bits));
  number->float64 = FromBits<double>(bits);
  const bool fits = number->type == FLOAT64 ? std::isnan(number->float64)
                                            : bits <= 0xffffffffu && std::isnan(number->float32);
  if (!fits) return Fail(start, "these are not the bits of a NaN; expected nan(0x7fc00000)");
  return true;
}

bool TextScanner::ReadNanBits(uint64_t* bits, bool* given) {
  if (!TryConsume('(')) return true;
  *given = true;
  const absl::string_view rest = text_.substr(offset_);
  const char* const first = rest.data() + std::min<size_t>(2, rest.size());
  const std::from_chars_result result =
      std::from_chars(first, rest.data() + rest.size(), *bits, 16);
  if (!absl::StartsWith(rest, "0x") || result.ec != std::errc()) {
    return FailHere("the bits of a NaN: 0x and up to 16 hexadecimal digits");
  }
  Advance(result.ptr - rest.data());
  return Consume(')', "after the bits of a NaN");
}

std::string TextScanner::Found() const {
  if (AtEnd()) return "the end of the text";
  if (text_[offset_] == '\n') return "the end of the line";
  if (text_[offset_] == '"') return "a quoted string";
  if (absl::StartsWith(text_.substr(offset_), "->")) return "\"->\"";
  size_t length = 1;
  if (IsNameChar(text_[offset_])) {
    while (offset_ + length < text_.size() && IsNameChar(text_[offset_ + length])) ++length;
  }
  return Shown(text_.substr(offset_, length));
}

bool TextScanner::Fail(size_t offset, absl::string_view message) {
  if (errors_.size() < kMaxErrors) errors_.push_back({offset, std::string(message)});
  return false;
}

bool TextScanner::FailHere(absl::string_view expected) {
  return Fail(offset_, absl::StrCat("found ", Found(), "; expected ", expected));
}

bool TextScanner::Recover() {
  if (errors_.size() >= kMaxErrors) return false;
  bool in_quotes = false;
  for (; offset_ < text_.size() && text_[offset_] != '\n'; ++offset_) {
    const char c = text_[offset_];
    if (in_quotes && c == '\\') {
      ++offset_;
    } else if (c == '"') {
      in_quotes = !in_quotes;
    } else if (!in_quotes && c == '#') {
      offset_ = std::min(text_.find('\n', offset_), text_.size());
      break;
    } else if (!in_quotes && (c == '(' || c == '[' || c == '{')) {
      ++open_brackets_;
    } else if (!in_quotes && (c == ')' || c == ']' || c == '}')) {
      --open_brackets_;
    }
  }
  offset_ = std::min(offset_, text_.size());
  return open_brackets_ == 0;
}

int TextScanner::LineOf(size_t offset) const {
  const absl::string_view before = text_.substr(0, offset);
  return first_line_ + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

std::vector<int> TextScanner::LinesOf(const std::vector<size_t>& offsets) const {
  std::vector<int> lines;
  int line = first_line_;
  const char* at = text_.data();
  for (const size_t offset : offsets) {
    const char* const place = text_.data() + offset;
    line += static_cast<int>(std::count(at, place, '\n'));
    at = place;
    lines.push_back(line);
  }
  return lines;
}

absl::Status TextScanner::status(absl::string_view file_name) const {
  if (errors_.empty()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const Error& error : errors_) {
    const absl::string_view before = text_.substr(0, error.offset);
    const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    lines.push_back(absl::StrCat(file_name, ":", LineOf(error.offset), ":",
                                 1 + error.offset - line_start, ": ", error.message));
  }
  if (errors_.size() == kMaxErrors) {
    lines.push_back(absl::StrCat(file_name, ": and more; these are the first ", kMaxErrors));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace fixpoint
