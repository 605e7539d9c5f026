#include "proto/text/sectioned_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/base/status_macros.h"
#include "proto/text/text_scanner.h"

namespace fixpoint {
namespace {

class Splitter {
 public:
  Splitter(absl::string_view file_name, absl::string_view kind,
           const std::vector<std::string>& sections, Bases bases)
      : file_name_(file_name), kind_(kind), sections_(sections), bases_(bases) {}

  absl::StatusOr<std::vector<TextItem>> Split(absl::string_view text) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      ++line_;
      RETURN_IF_ERROR(Take(line));
    }
    if (items_.empty()) return Error(absl::StrCat("no ", kind_, "; expected ", ItemForm()));
    return std::move(items_);
  }

 private:
  absl::Status Take(absl::string_view line) {
    const absl::string_view words =
        absl::StripAsciiWhitespace(line.substr(0, line.find_first_of('#')));
    if (absl::StartsWith(line, absl::StrCat(kind_, " "))) return BeginItem(line);
    if (absl::EndsWith(words, ":") && std::all_of(words.begin(), words.end() - 1, [](char c) {
          return absl::ascii_islower(c) || c == '_';
        })) {
      return BeginSection(std::string(words.substr(0, words.size() - 1)));
    }
    if (!items_.empty() && !items_.back().sections.empty()) {
      absl::StrAppend(&items_.back().sections.back().text, line, "\n");
    } else if (!words.empty()) {
      return Error(absl::StrCat("a line outside of the sections; expected ",
                                items_.empty() ? ItemForm() : SectionForm()));
    }
    return absl::OkStatus();
  }

  absl::Status BeginItem(absl::string_view line) {
    TextScanner scanner(line, line_);
    scanner.TryConsumeWord(kind_);
    absl::string_view name;
    TextItem item;
    item.line = line_;
    // A name may be in quotes too, so that a sentence without one is read as a name.
    bool is_in_quotes = scanner.Peek() == '"';
    if (scanner.ReadName(absl::StrCat("the name of the ", kind_), &name)) {
      item.name = std::string(name);
      if (is_in_quotes && scanner.AtEndOfLine()) {
        return Error(absl::StrCat("no name before the sentence; expected ", ItemForm()));
      }
      absl::string_view base;
      if (bases_ == Bases::kAllowed && scanner.TryConsumeWord("of")) {
        is_in_quotes = scanner.Peek() == '"';
        if (scanner.ReadName(absl::StrCat("the name of the ", kind_, " that it builds on"),
                             &base)) {
          item.base = std::string(base);
          if (is_in_quotes && scanner.AtEndOfLine()) {
            return Error(absl::StrCat("no name between of and the sentence; expected ", kind_, " ",
                                      item.name, " of NAME \"what it is\""));
          }
        }
      }
      if (scanner.ReadQuoted("a sentence in quotes that says what it is", &item.doc) &&
          !scanner.AtEndOfLine()) {
        scanner.FailHere("the end of the line");
      }
    }
    RETURN_IF_ERROR(scanner.status(file_name_));
    for (const TextItem& other : items_) {
      if (other.name != item.name) continue;
      return Error(absl::StrCat("another ", kind_, " \"", item.name, "\"; the first is on line ",
                                other.line));
    }
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  absl::Status BeginSection(std::string name) {
    if (items_.empty()) {
      return Error(absl::StrCat("a section outside of any ", kind_, "; expected ", ItemForm()));
    }
    if (std::count(sections_.begin(), sections_.end(), name) == 0) {
      return Error(absl::StrCat("no section of a ", kind_, " is called ", name, "; expected ",
                                SectionForm()));
    }
    TextItem& item = items_.back();
    if (item.Find(name) != nullptr) {
      return Error(
          absl::StrCat("another section ", name, " of ", item.name, "; expected one of each name"));
    }
    item.sections.push_back({std::move(name), "", line_ + 1});
    return absl::OkStatus();
  }

  std::string ItemForm() const { return absl::StrCat(kind_, " NAME \"what it is\""); }
  std::string SectionForm() const { return absl::StrCat(absl::StrJoin(sections_, ":, "), ":"); }
  absl::Status Error(absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(file_name_, ":", line_, ": ", message));
  }

  const absl::string_view file_name_;
  const absl::string_view kind_;
  const std::vector<std::string>& sections_;
  const Bases bases_;
  int line_ = 0;
  std::vector<TextItem> items_;
};

}  // namespace

const TextSection* TextItem::Find(absl::string_view section) const {
  for (const TextSection& candidate : sections) {
    if (candidate.name == section) return &candidate;
  }
  return nullptr;
}

absl::StatusOr<std::vector<TextItem>> ParseSectionedText(absl::string_view text,
                                                         absl::string_view file_name,
                                                         absl::string_view kind,
                                                         const std::vector<std::string>& sections,
                                                         Bases bases) {
  return Splitter(file_name, kind, sections, bases).Split(text);
}

}  // namespace fixpoint
