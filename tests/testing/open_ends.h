// Expected texts that leave the end of a line open, so that they do not change with a table whose
// names the line goes on to list.

#ifndef FIXPOINT_TESTS_TESTING_OPEN_ENDS_H_
#define FIXPOINT_TESTS_TESTING_OPEN_ENDS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {

// `actual` with each line that begins as the same line of `expected` does, which ends in " ...", cut
// off there in the same way: equal to `expected` where nothing else is different.
std::string WithOpenEndsOf(absl::string_view expected, absl::string_view actual);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_OPEN_ENDS_H_
