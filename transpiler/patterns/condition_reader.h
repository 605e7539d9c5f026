// The section `where` of a pattern from its text.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_CONDITION_READER_H_
#define FIXPOINT_TRANSPILER_PATTERNS_CONDITION_READER_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/text/sectioned_text.h"
#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern_condition.h"

namespace fixpoint {

// What a condition may name. Positions are those in Pattern::variables and Pattern::values.
struct ConditionNames {
  struct Attribute {
    int variable = -1;
    AttrType type = AttrType::INT;
  };
  // Of "$c"; nothing if no attribute of `before` is that.
  std::function<std::optional<Attribute>(absl::string_view name)> attribute;
  // Of a value of `before`; nothing if it has none of that name.
  std::function<std::optional<int>(absl::string_view name)> value;
};

// Errors (kInvalidArgument) with file, line and column: no condition, or something that is none; a
// name that `before` does not have; terms of two types, a text or a boolean that is not asked for
// equality, a remainder of what is no integer, an attribute that is a list.
absl::StatusOr<std::vector<PatternCondition>> ReadConditions(const TextSection& section,
                                                             absl::string_view file_name,
                                                             const ConditionNames& names);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_CONDITION_READER_H_
