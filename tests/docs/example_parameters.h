// The trained parameters of the tour's program: the files of examples/data/conv_parameters, made of
// the numbers in conv_parameters.txt beside it.

#ifndef FIXPOINT_TESTS_DOCS_EXAMPLE_PARAMETERS_H_
#define FIXPOINT_TESTS_DOCS_EXAMPLE_PARAMETERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/docs/lists.h"

namespace fixpoint {

// `root` is the folder that holds examples/. Errors: those of reading its files and of Transpile.
absl::StatusOr<std::vector<GeneratedFile>> ExampleParameters(const std::string& root);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_DOCS_EXAMPLE_PARAMETERS_H_
