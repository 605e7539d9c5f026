// What a message offers for a name that there is not: the one that it may stand for, or those that
// there are.

#ifndef FIXPOINT_PROTO_NEAREST_NAME_H_
#define FIXPOINT_PROTO_NEAREST_NAME_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fixpoint {

// The candidate that takes the fewest edits (a character added, removed or replaced, or two
// neighbours swapped) to become `name`, the first of equals. Where every candidate takes more than
// a third of the name's length, or the name is one letter, the shortest that goes on after `name`
// and one of ". _ @ /"
// ("w_3.w_0" of "w_3"); else "". Also "" of names of more than 256 characters.
std::string NearestName(absl::string_view name, absl::Span<const std::string> candidates);

// "; did you mean NEAREST?", or "".
std::string DidYouMean(absl::string_view name, absl::Span<const std::string> candidates);

// "A, B, C and 4 more".
std::string FirstNames(absl::Span<const std::string> names, size_t shown = 3);

// "; did you mean NEAREST?", or "; there are A, B, C and 4 more", or "" of no candidates.
std::string OfferNames(absl::string_view name, absl::Span<const std::string> candidates,
                       size_t shown = 3);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_NEAREST_NAME_H_
