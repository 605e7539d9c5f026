// `inspect params`: what the tensors of a parameter file or folder hold.

#ifndef FIXPOINT_TOOLS_PARAMS_COMMAND_H_
#define FIXPOINT_TOOLS_PARAMS_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/command_line.h"

namespace fixpoint {

struct ParamsCommand {
  std::string params;   // a combined file, or a folder with a file for each parameter
  std::string program;  // names the tensors of a combined file; "": nothing does
  bool json = false;
};

// Prints name, type, shape, smallest, largest, mean and first elements of each tensor. Errors:
// those of VisitStoredTensors or, with a program, of LoadParameters.
absl::StatusOr<ExitCode> RunParamsCommand(const ParamsCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PARAMS_COMMAND_H_
