// An attribute of `after` that is a sum.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_COMPUTED_ATTRIBUTE_H_
#define FIXPOINT_TRANSPILER_PATTERNS_COMPUTED_ATTRIBUTE_H_

#include <string>
#include <variant>

#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern.h"
#include "transpiler/patterns/pattern_matcher.h"

namespace fixpoint {

// The attribute for a match: of `attribute.type`, to which the sum is rounded once. If there is
// none, why: the sum has no value; it is no integer of that many bits, or not finite. REQUIRES:
// attribute.sum, of numbers; the match is complete.
std::variant<OpDesc::Attr, std::string> ComputedAttribute(const PatternAttribute& attribute,
                                                          const Match& match);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_COMPUTED_ATTRIBUTE_H_
