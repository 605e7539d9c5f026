// Errors about what a transpile is given beside its program.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_INPUT_ERROR_H_
#define FIXPOINT_TRANSPILER_PIPELINE_INPUT_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// What messages call the inputs: the paths of their files, where they were read from files.
struct InputNames {
  std::string config = "configuration";
  std::string plan = "plan";
  std::string profile = "profile";
};

// `error` as one of the input of that name, which each line of the message then begins with. OK
// stays OK.
absl::Status InputError(absl::string_view name, const absl::Status& error);

// Whether InputError made it, so that the message says what it is about.
bool IsInputError(const absl::Status& error);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_INPUT_ERROR_H_
