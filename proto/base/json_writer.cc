#include "proto/base/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/base/utf8.h"

namespace fixpoint {
namespace {

void AppendString(absl::string_view value, std::string* text) {
  text->push_back('"');
  while (!value.empty()) {
    const size_t length = Utf8SequenceLength(value);
    if (length == 0) {
      absl::StrAppend(text, kReplacementCharacter);
    } else if (value[0] == '"' || value[0] == '\\') {
      absl::StrAppend(text, "\\", value.substr(0, 1));
    } else if (static_cast<unsigned char>(value[0]) < 0x20) {
      absl::StrAppendFormat(text, "\\u%04x", value[0]);
    } else {
      absl::StrAppend(text, value.substr(0, length));
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
  text->push_back('"');
}

}  // namespace

JsonWriter& JsonWriter::Key(absl::string_view key) {
  Separate();
  AppendString(key, &text_);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) {
  Separate();
  AppendString(value, &text_);
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t value) {
  Separate();
  absl::StrAppend(&text_, value);
  return *this;
}

JsonWriter& JsonWriter::Double(double value) {
  Separate();
  text_ += std::isfinite(value) ? absl::StrFormat("%.9g", value) : "null";
  return *this;
}

JsonWriter& JsonWriter::Float(float value) {
  if (!std::isfinite(value)) return Double(value);
  Separate();
  char digits[32];
  text_.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  Separate();
  text_ += value ? "true" : "false";
  return *this;
}

std::string JsonWriter::Take() {
  text_ += "\n";
  return std::move(text_);
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  ++depth_;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  --depth_;
  if (!first_) BreakLine();
  text_ += bracket;
  first_ = false;
  return *this;
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) text_ += ",";
  if (!first_ && layout_ == Layout::kOneLine) text_ += " ";
  if (depth_ > 0) BreakLine();
  first_ = false;
}

void JsonWriter::BreakLine() {
  if (layout_ == Layout::kIndented) text_.append(1, '\n').append(2 * depth_, ' ');
}

}  // namespace fixpoint
