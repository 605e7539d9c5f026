#include "proto/text/text_lexemes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "proto/wire/deterministic_bytes.h"

namespace fixpoint {
namespace {

constexpr bool MayStartName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '@';
}

constexpr std::array<bool, 256> MakeNameChars() {
  std::array<bool, 256> chars = {};
  for (int i = 0; i < 128; ++i) {
    const char c = static_cast<char>(i);
    chars[i] =
        MayStartName(c) || (c >= '0' && c <= '9') || c == '.' || c == '/' || c == ':' || c == '-';
  }
  return chars;
}

constexpr std::array<bool, 256> kNameChars = MakeNameChars();

bool NeedsEscape(char c) { return c < 0x20 || c >= 0x7f || c == '"' || c == '\\'; }

void AppendEscaped(char c, std::string* text) {
  constexpr char kHex[] = "0123456789abcdef";
  text->push_back('\\');
  switch (c) {
    case '"':
    case '\\':
      text->push_back(c);
      return;
    case '\n':
      text->push_back('n');
      return;
    case '\t':
      text->push_back('t');
      return;
    default:
      text->push_back('x');
      text->push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      text->push_back(kHex[c & 0xf]);
  }
}

// A number whose digits show that it is no integer.
template <typename Float>
void AppendFinite(Float value, std::string* text) {
  char buffer[32];
  const char* const end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  const absl::string_view digits(buffer, end - buffer);
  text->append(digits.data(), digits.size());
  if (digits.find_first_of(".e") == absl::string_view::npos) text->append(".0");
}

template <typename Float>
void AppendInfinity(Float value, std::string* text) {
  text->append(value < 0 ? "-inf" : "inf");
}

}  // namespace

bool IsNameStart(char c) { return MayStartName(c); }

bool IsNameChar(char c) { return kNameChars[static_cast<unsigned char>(c)]; }

bool IsStatementWord(absl::string_view word) {
  return word == "program" || word == "block" || word == "var" || word == "op";
}

void AppendName(absl::string_view name, std::string* text) {
  if (!name.empty() && IsNameStart(name[0]) && std::all_of(name.begin(), name.end(), IsNameChar)) {
    text->append(name.data(), name.size());
  } else {
    AppendQuoted(name, text);
  }
}

void AppendQuoted(absl::string_view bytes, std::string* text) {
  text->push_back('"');
  const char* from = bytes.data();
  const char* const end = from + bytes.size();
  while (true) {
    const char* special = std::find_if(from, end, NeedsEscape);
    text->append(from, special);
    if (special == end) break;
    AppendEscaped(*special, text);
    from = special + 1;
  }
  text->push_back('"');
}

void AppendFloat(float value, std::string* text) {
  if (std::isnan(value)) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    text->append(bits == kPlainNan ? "nan" : absl::StrFormat("nan(0x%08x)", bits));
  } else if (std::isinf(value)) {
    AppendInfinity(value, text);
  } else {
    AppendFinite(value, text);
  }
}

void AppendDouble(double value, std::string* text) {
  if (std::isnan(value)) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    text->append(bits == kPlainNan64 ? "nan" : absl::StrFormat("nan(0x%016x)", bits));
  } else if (std::isinf(value)) {
    AppendInfinity(value, text);
  } else {
    AppendFinite(value, text);
  }
  text->push_back('d');
}

void AppendSerialized(const google::protobuf::Message& message, std::string* text) {
  text->append("serialized ");
  AppendQuoted(DeterministicBytes(message), text);
}

}  // namespace fixpoint
