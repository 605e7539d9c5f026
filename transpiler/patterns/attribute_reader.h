// What the attributes of a pattern's lines say: a value, a "$c" that stands for one, or a sum.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_ATTRIBUTE_READER_H_
#define FIXPOINT_TRANSPILER_PATTERNS_ATTRIBUTE_READER_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern.h"
#include "transpiler/patterns/sum_reader.h"

namespace fixpoint {

// Reads those of all ops in order, `before` first. Errors (kInvalidArgument): `place`, what is
// wrong and what would be right.
class AttributeReader {
 public:
  // Adds to `pattern->variables`; its values are those that sums may name. REQUIRES: it outlives
  // this object.
  explicit AttributeReader(Pattern* pattern) : pattern_(*pattern) {}

  // The attributes of an op that ReadPatternOp gives. Errors: in `before`, a string that
  // begins with $ and is no "$c"; in `after`, a "$c" that `before` does not have, or a string that
  // is no sum (sum_reader.h) or one of another type, where the attribute is a number.
  absl::Status Read(const OpDesc& desc, bool is_after, absl::string_view place,
                    std::vector<PatternAttribute>* attributes);
  // Notes the types of the "$c" that an op has. Error: one has another type elsewhere. REQUIRES:
  // ReadPatternOp finds nothing wrong with the op.
  absl::Status NoteTypes(const PatternOp& op, absl::string_view place);

  // What sums may name, once `before` is read. This object has to outlive them.
  SumNames Names() const;

 private:
  absl::Status ReadBound(absl::string_view place, PatternAttribute* attribute);
  absl::Status ReadComputed(absl::string_view op_type, absl::string_view place,
                            PatternAttribute* attribute) const;
  std::optional<SumNames::Attribute> Find(absl::string_view variable) const;

  Pattern& pattern_;
  std::vector<AttrType> types_;  // by the variable; of those whose ops were noted
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_ATTRIBUTE_READER_H_
