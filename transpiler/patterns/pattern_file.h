// Files of patterns, in the form that docs/patterns.md describes, and those that are built in
// (transpiler/patterns/shipped).

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_FILE_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transpiler/patterns/pattern.h"

namespace fixpoint {

// The patterns of a text, in order, each checked (CheckPattern). Errors (kInvalidArgument), a line
// for each pattern that has one: file and line, what is wrong, and what would be right.
absl::StatusOr<std::vector<Pattern>> ParsePatterns(absl::string_view text,
                                                   absl::string_view file_name);

// Whether a name is that of a file, whose path has a / or a ., and not that of built-in patterns.
bool IsPatternFile(absl::string_view name_or_path);

// The names of the built-in files, in ascending order.
std::vector<std::string> BuiltInPatternFiles();

// The patterns of a file, or those that are built in under a name. Errors: those of ParsePatterns;
// kNotFound: there is no such file; kInvalidArgument: there are no such built-in ones.
absl::StatusOr<std::vector<Pattern>> LoadPatterns(const std::string& name_or_path);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_FILE_H_
