#include "transpiler/report/page/html.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/utf8.h"

namespace fixpoint {
namespace {

// XML 1.0, production 2: no control characters but three, and neither U+FFFE nor U+FFFF.
bool IsXmlCharacter(absl::string_view sequence) {
  if (sequence.size() == 1) {
    const auto c = static_cast<unsigned char>(sequence[0]);
    return (c >= 0x20 && c != 0x7f) || c == '\t' || c == '\n' || c == '\r';
  }
  return sequence != "\xef\xbf\xbe" && sequence != "\xef\xbf\xbf";
}

void AppendEscaped(absl::string_view value, std::string* text) {
  while (!value.empty()) {
    const size_t length = Utf8SequenceLength(value);
    const absl::string_view sequence = value.substr(0, length);
    if (length == 0 || !IsXmlCharacter(sequence)) {
      absl::StrAppend(text, kReplacementCharacter);
    } else if (sequence == "<") {
      *text += "&lt;";
    } else if (sequence == ">") {
      *text += "&gt;";
    } else if (sequence == "&") {
      *text += "&amp;";
    } else if (sequence == "\"") {
      *text += "&quot;";
    } else if (sequence == "'") {
      *text += "&#39;";
    } else {
      absl::StrAppend(text, sequence);
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
}

// Elements before which a line begins, so that the source can be read and compared.
bool BeginsLine(absl::string_view tag) {
  for (const absl::string_view inside :
       {"a", "abbr", "b", "code", "i", "span", "small", "strong"}) {
    if (tag == inside) return false;
  }
  return true;
}

}  // namespace

void Html::Start(const char* tag, HtmlAttributes attributes) {
  if (BeginsLine(tag) && text_.back() != '\n') text_ += '\n';
  absl::StrAppend(&text_, "<", tag);
  for (const HtmlAttribute& attribute : attributes) {
    absl::StrAppend(&text_, " ", attribute.name, "=\"");
    AppendEscaped(attribute.value, &text_);
    text_ += '"';
  }
}

Html& Html::Open(const char* tag, HtmlAttributes attributes) {
  Start(tag, attributes);
  text_ += '>';
  open_.push_back(tag);
  return *this;
}

Html& Html::Close() {
  absl::StrAppend(&text_, "</", open_.back(), ">");
  open_.pop_back();
  return *this;
}

Html& Html::Text(absl::string_view text) {
  AppendEscaped(text, &text_);
  return *this;
}

Html& Html::Element(const char* tag, absl::string_view text, HtmlAttributes attributes) {
  return Open(tag, attributes).Text(text).Close();
}

Html& Html::Void(const char* tag, HtmlAttributes attributes) {
  Start(tag, attributes);
  text_ += "/>";
  return *this;
}

Html& Html::Embed(const char* tag, absl::string_view source) {
  Start(tag, {});
  // For readers of HTML the marks of the section of characters are comments of CSS and JavaScript.
  absl::StrAppend(&text_, ">/*<![CDATA[*/\n", source, "/*]]>*/</", tag, ">");
  return *this;
}

std::string Html::Take() { return std::move(text_) + "\n"; }

}  // namespace fixpoint
