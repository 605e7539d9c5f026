// Goldens of patterns, `mode: rewrite`: the section `patterns`, or the built-in ones that the
// setting `patterns` names, are applied to `program`. `becomes` is the program, `report` what was
// replaced and what nearly was, `error` the message, of patterns or of applying them. `pipeline`
// names passes; with `loss`, the gradient ops of that variable are appended first.

#ifndef FIXPOINT_TESTS_TESTING_GOLDEN_REWRITE_H_
#define FIXPOINT_TESTS_TESTING_GOLDEN_REWRITE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/testing/golden.h"

namespace fixpoint {

// The same golden with its sections as the code now makes them. Checks that undoing gives the
// program back, and that nothing is left to rewrite.
absl::StatusOr<Golden> RegenerateRewrite(const Golden& golden, absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_GOLDEN_REWRITE_H_
