// "Did you mean ...?": the name that a misspelt one may stand for.

#ifndef FIXPOINT_PROTO_NEAREST_NAME_H_
#define FIXPOINT_PROTO_NEAREST_NAME_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fixpoint {

// The candidate that takes the fewest edits (a character added, removed or replaced, or two
// neighbours swapped) to become `name`, the first of equals. Where every candidate takes more than
// a third of the name's length, or the name is one letter, the shortest that goes on after `name` and one of ". _ @ /"
// ("w_3.w_0" of "w_3"); else "". Also "" of names of more than 256 characters.
std::string NearestName(absl::string_view name, absl::Span<const std::string> candidates);

// "; did you mean NEAREST?", or "".
std::string DidYouMean(absl::string_view name, absl::Span<const std::string> candidates);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_NEAREST_NAME_H_
