// Files of named items in sections, whose lines are lines of a program: patterns, quantizers.
//
//   # x * sigmoid(x) is one op.
//   pattern swish "The product of a value and its sigmoid."
//   before:
//     sigmoid(X=x) -> (Out=s)
//     elementwise_mul(X=x, Y=s) -> (Out=y)
//   after:
//     swish(X=x) -> (Out=y)
//
// An item begins with a word that says what it is, its name, and a sentence in quotes; where items
// can build on others, "of" and another's name may stand before the sentence. A section
// begins with its name and a colon, alone on a line. Blanks, empty lines and comments from # on
// mean nothing.

#ifndef FIXPOINT_PROTO_TEXT_SECTIONED_TEXT_H_
#define FIXPOINT_PROTO_TEXT_SECTIONED_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

struct TextSection {
  std::string name;
  std::string text;    // the lines after the name
  int first_line = 0;  // of `text` in the file
};

struct TextItem {
  std::string name;
  std::string base;  // the item that it builds on; "" for none
  std::string doc;
  int line = 0;
  std::vector<TextSection> sections;  // as in the file; no name twice

  // Null if there is none of that name.
  const TextSection* Find(absl::string_view section) const;
};

enum class Bases { kNone, kAllowed };

// Splits a file of items that each begin with the word `kind` and have sections of those names.
// Errors (kInvalidArgument), with file and line: a line outside of the sections, a section that is
// unknown or given twice, a name given twice, no sentence, no item at all.
absl::StatusOr<std::vector<TextItem>> ParseSectionedText(absl::string_view text,
                                                         absl::string_view file_name,
                                                         absl::string_view kind,
                                                         const std::vector<std::string>& sections,
                                                         Bases bases = Bases::kNone);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_TEXT_SECTIONED_TEXT_H_
