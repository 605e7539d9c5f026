// Errors about the inputs of a transpile other than its program.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_INPUT_ERROR_H_
#define FIXPOINT_TRANSPILER_PIPELINE_INPUT_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// How messages refer to the inputs: the paths of their files, if they were read from files.
struct InputNames {
  std::string config = "configuration";
  std::string plan = "plan";
  std::string profile = "profile";
};

// `error` as an error of the input of that name, with which each line of the message then begins.
// OK stays OK.
absl::Status InputError(absl::string_view name, const absl::Status& error);

// Whether InputError made it, so that the message names its subject.
bool IsInputError(const absl::Status& error);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_INPUT_ERROR_H_
