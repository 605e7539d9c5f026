// `infer --compare`: two programs on the same inputs, variable by variable.

#ifndef FIXPOINT_TOOLS_COMPARISON_COMMAND_H_
#define FIXPOINT_TOOLS_COMPARISON_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "runtime/backends.h"
#include "runtime/data/data_source.h"
#include "runtime/training/network_variables.h"
#include "tools/command_line.h"
#include "tools/inference_inputs.h"

namespace fixpoint {

struct ComparedFile {
  std::string program;
  std::string params;  // "": the program has none
  BackendKind backend = kDefaultBackend;
  bool has_own_params = true;  // and not those of the program that it is compared with
};

struct ComparisonCommand {
  ComparedFile program;
  ComparedFile other;
  // Whether each op of the program is given the inputs that the other one computed
  // (runtime/op_by_op.h).
  bool op_by_op = false;
  BackendOptions backend_options;

  // Arrays for variables of one program or of both; or, if this is set, the first batches of a data
  // set's test images.
  std::vector<NamedFile> feeds;
  std::optional<DataSource> data;
  NetworkVariables variables;  // those of the program; "": found
  int64_t batch_size = 0;
  int64_t batches = 0;

  bool json = false;
  std::string report;                          // a file for what was found; "": none
  const QuantizerTable* quantizers = nullptr;  // those that it can show; not null
};

// The answer is no if an element differs.
absl::StatusOr<ExitCode> RunComparisonCommand(const ComparisonCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COMPARISON_COMMAND_H_
