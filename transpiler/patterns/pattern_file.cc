#include "transpiler/patterns/pattern_file.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "proto/text/sectioned_text.h"
#include "transpiler/patterns/pattern_reader.h"

namespace fixpoint {
namespace {

struct BuiltIn {
  const char* name;
  const char* text;
};

constexpr BuiltIn kBuiltIn[] = {
#include "transpiler/patterns/builtin_patterns.inc"
};

}  // namespace

absl::StatusOr<std::vector<Pattern>> ParsePatterns(absl::string_view text,
                                                   absl::string_view file_name) {
  ASSIGN_OR_RETURN(const std::vector<TextItem> items,
                   ParseSectionedText(text, file_name, "pattern", {"before", "where", "after"}));
  std::vector<Pattern> patterns;
  std::vector<std::string> errors;
  for (const TextItem& item : items) {
    absl::StatusOr<Pattern> pattern = ReadPattern(item, file_name);
    if (pattern.ok()) {
      patterns.push_back(*std::move(pattern));
    } else {
      errors.push_back(std::string(pattern.status().message()));
    }
  }
  if (errors.empty()) return patterns;
  return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
}

bool IsPatternFile(absl::string_view name_or_path) {
  return name_or_path == "-" || name_or_path.find_first_of("/.") != absl::string_view::npos;
}

std::vector<std::string> BuiltInPatternFiles() {
  std::vector<std::string> names;
  for (const BuiltIn& file : kBuiltIn) names.push_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::vector<Pattern>> LoadPatterns(const std::string& name_or_path) {
  if (IsPatternFile(name_or_path)) {
    ASSIGN_OR_RETURN(const std::string text, ReadInputFile(name_or_path, kMostPageBytes));
    return ParsePatterns(text, InputName(name_or_path));
  }
  for (const BuiltIn& file : kBuiltIn) {
    if (name_or_path == file.name) return ParsePatterns(file.text, name_or_path);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there are no built-in patterns \"", name_or_path, "\"",
      DidYouMean(name_or_path, BuiltInPatternFiles()), "; there are ",
      absl::StrJoin(BuiltInPatternFiles(), ", "), ", and the path of a file has a / or a ."));
}

}  // namespace fixpoint
