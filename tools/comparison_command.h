// `infer --compare`: two programs on the same inputs, variable by variable.

#ifndef FIXPOINT_TOOLS_COMPARISON_COMMAND_H_
#define FIXPOINT_TOOLS_COMPARISON_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/backends.h"
#include "runtime/data/data_set.h"
#include "runtime/training/network_variables.h"
#include "tools/command_line.h"
#include "tools/inference_inputs.h"

namespace fixpoint {

struct ComparedFile {
  std::string program;
  std::string params;  // "": the program has none
  BackendKind backend = kDefaultBackend;
};

struct ComparisonCommand {
  ComparedFile program;
  ComparedFile other;
  // Whether each op of the program is given what the other one computed of its inputs
  // (runtime/op_by_op.h).
  bool op_by_op = false;
  BackendOptions backend_options;

  // Arrays, each a variable's of one program or of both; or, where this is set, the first batches
  // of a data set to test on.
  std::vector<NamedFile> feeds;
  std::optional<DataSetName> data_set;
  NetworkVariables variables;  // of the program; "": found
  int64_t batch_size = 0;
  int64_t batches = 0;

  bool json = false;
};

// The answer is no where an element differs.
absl::StatusOr<ExitCode> RunComparisonCommand(const ComparisonCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COMPARISON_COMMAND_H_
