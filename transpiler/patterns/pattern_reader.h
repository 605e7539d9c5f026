// One pattern from its text: which names are captures, results and inner, in which order its ops
// are looked for, and whether it can be applied at all.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_READER_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_READER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/text/sectioned_text.h"
#include "transpiler/patterns/pattern.h"

namespace fixpoint {

// More ops than a pattern written by hand looks for, and more than it writes: one for each step of
// a sequence may be written by a program.
inline constexpr int kMostOpsBefore = 64;
inline constexpr int kMostOpsAfter = 4096;

// Error (kInvalidArgument) with file and line: the text is no pattern; an op, slot or attribute
// does not exist or is of another form (pattern_checks.h); a name is written twice, read before it
// is written, or read where it no longer exists; no result; the ops of `before` are not connected
// by values that they write; a "$c" of `after` is not in `before`; an attribute of `after` is
// computed and no sum (sum_reader.h); a condition of `where` is none (condition_reader.h); `after`
// gives a result of another dtype; `after` matches `before` again.
absl::StatusOr<Pattern> ReadPattern(const TextItem& item, absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_READER_H_
