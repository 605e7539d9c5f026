// What `infer` does with a program: on arrays, or on a data set.

#ifndef FIXPOINT_TOOLS_INFERENCE_COMMAND_H_
#define FIXPOINT_TOOLS_INFERENCE_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/backends.h"
#include "runtime/data/data_source.h"
#include "runtime/training/network_variables.h"
#include "tools/command_line.h"
#include "tools/inference_inputs.h"

namespace fixpoint {

struct InferenceCommand {
  std::string program;
  std::string params;  // "": the program has none

  // Arrays in and out ...
  std::vector<NamedFile> feeds;
  std::vector<NamedFile> fetches;
  // ... or, where this is set, the images of a data set to test on.
  std::optional<DataSource> data;
  NetworkVariables variables;  // "": found
  int64_t batch_size = 0;

  BackendKind backend = kDefaultBackend;
  BackendOptions backend_options;
  bool dump_plan = false;
  bool json = false;
};

absl::StatusOr<ExitCode> RunInferenceCommand(const InferenceCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INFERENCE_COMMAND_H_
