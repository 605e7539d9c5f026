// What a message offers in place of an unknown name: the one that was probably meant, or those that
// exist.

#ifndef FIXPOINT_PROTO_BASE_NEAREST_NAME_H_
#define FIXPOINT_PROTO_BASE_NEAREST_NAME_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fixpoint {

// The candidate that takes the fewest edits (a character added, removed or replaced, or two
// neighbours swapped) to become `name`, the first of equals. If every candidate takes more than a
// third of the longer one's length, or the name is one letter, the shortest that continues `name`
// with one of ". _ @ /" ("w_3.w_0" for "w_3"); else "". Also "" for names of more than 256
// characters.
std::string NearestName(absl::string_view name, absl::Span<const std::string> candidates);

// "; did you mean NEAREST?", or "".
std::string DidYouMean(absl::string_view name, absl::Span<const std::string> candidates);

// "A, B, C and 4 more".
std::string FirstNames(absl::Span<const std::string> names, size_t shown = 3);

// "; did you mean NEAREST?", or "; there are A, B, C and 4 more", or "" if there are no candidates.
std::string OfferNames(absl::string_view name, absl::Span<const std::string> candidates,
                       size_t shown = 3);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_BASE_NEAREST_NAME_H_
