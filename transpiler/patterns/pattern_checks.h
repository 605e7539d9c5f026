// Whether a pattern agrees with the schemas of its ops, and comes to an end.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CHECKS_H_
#define FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CHECKS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern.h"

namespace fixpoint {

// An op of the file as its schema has it (ops/written_op.h). Error (kInvalidArgument): `place`,
// what is wrong, and what would be right.
absl::StatusOr<OpDesc> ReadPatternOp(const OpDesc& op, bool is_after, absl::string_view place);
// Error as above: an op that comes next in the pattern's `after` leaves out an attribute that has
// no default, and `before` has no op of its type and number, from which it would be copied.
absl::Status CheckGivenAttributes(const Pattern& pattern, const OpDesc& after,
                                  absl::string_view place);

// The type of an attribute of an op; nothing if there is no such op or attribute.
std::optional<AttrType> TypeOfAttribute(absl::string_view op_type, absl::string_view attribute);

// What `after` gives has the dtypes that `before` gives, as far as var lines and ops say them, and
// `before` does not match in `after`. Errors as above, with the lines of `file_name`.
absl::Status CheckResultTypes(const Pattern& pattern, absl::string_view file_name);
absl::Status CheckEnds(const Pattern& pattern, absl::string_view file_name);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_PATTERN_CHECKS_H_
