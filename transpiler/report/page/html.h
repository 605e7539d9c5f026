// Writes HTML that is well-formed XML too, so that every element is closed, and in which no text
// can become markup.

#ifndef FIXPOINT_TRANSPILER_REPORT_PAGE_HTML_H_
#define FIXPOINT_TRANSPILER_REPORT_PAGE_HTML_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fixpoint {

// The name is a literal of ours; the value may be anything.
struct HtmlAttribute {
  const char* name;
  std::string value;
};
using HtmlAttributes = std::initializer_list<HtmlAttribute>;

class Html {
 public:
  // Writes an element's start; what follows is in it, up to its Close.
  Html& Open(const char* tag, HtmlAttributes attributes = {});
  // Ends the element that was opened last. REQUIRES: there is one.
  Html& Close();
  // Any bytes: what is no UTF-8 or no character of XML becomes U+FFFD.
  Html& Text(absl::string_view text);
  // An element that has text only.
  Html& Element(const char* tag, absl::string_view text, HtmlAttributes attributes = {});
  // An element that has no content: "meta", "path".
  Html& Void(const char* tag, HtmlAttributes attributes = {});
  // A style sheet or script of ours, as it is. REQUIRES: it does not end the element or the section
  // of characters that it stands in.
  Html& Embed(const char* tag, absl::string_view source);

  // The document. REQUIRES: every element is closed.
  std::string Take();

 private:
  void Start(const char* tag, HtmlAttributes attributes);

  std::string text_ = "<!DOCTYPE html>\n";
  std::vector<const char*> open_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_PAGE_HTML_H_
