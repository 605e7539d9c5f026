// The programs of examples/data that layers write.

#ifndef FIXPOINT_TESTS_DOCS_EXAMPLE_PROGRAMS_H_
#define FIXPOINT_TESTS_DOCS_EXAMPLE_PROGRAMS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tests/docs/lists.h"

namespace fixpoint {

// examples/data/mlp.train.txt and mlp.startup.txt: two layers on images of digits, small enough for
// the reference interpreter.
absl::StatusOr<std::vector<GeneratedFile>> ExamplePrograms();

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_DOCS_EXAMPLE_PROGRAMS_H_
