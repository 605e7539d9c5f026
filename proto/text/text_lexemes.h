// The smallest parts of the text form (docs/program_text.md), as they are written: names, quoted
// strings and numbers. text_scanner.h reads them.

#ifndef FIXPOINT_PROTO_TEXT_TEXT_LEXEMES_H_
#define FIXPOINT_PROTO_TEXT_TEXT_LEXEMES_H_

#include <google/protobuf/message.h>

#include <charconv>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {

// The NaNs that are written as plain `nan`; any other NaN is written with its bits.
inline constexpr uint32_t kPlainNan = 0x7fc00000;
inline constexpr uint64_t kPlainNan64 = 0x7ff8000000000000;

// A bare name is a letter, '_' or '@', then any of these, digits, '.', '/', ':' and '-'.
bool IsNameStart(char c);
bool IsNameChar(char c);

// True for the words that begin a statement: an op type that is one of them is quoted.
bool IsStatementWord(absl::string_view word);

// `name` itself if it can be bare, else quoted.
void AppendName(absl::string_view name, std::string* text);

// Any bytes between double quotes; what is not printable ASCII is escaped.
void AppendQuoted(absl::string_view bytes, std::string* text);

// The shortest decimal that reads back as the same number: "0.5", "1e-05", "-0.0", "inf",
// "nan", "nan(0x7fc00001)". A double has the suffix d: "0.5d", "nan(0xfff8000000000000)d".
void AppendFloat(float value, std::string* text);
void AppendDouble(double value, std::string* text);

// `serialized "..."`, the whole message; the same message always gives the same text.
void AppendSerialized(const google::protobuf::Message& message, std::string* text);

template <typename Integer>
void AppendInteger(Integer value, std::string* text) {
  char digits[24];
  text->append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_TEXT_TEXT_LEXEMES_H_
