// The modes of `transpile` that make programs for inference.

#ifndef FIXPOINT_TOOLS_INFERENCE_MODES_H_
#define FIXPOINT_TOOLS_INFERENCE_MODES_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/command_line.h"
#include "transpiler/freeze.h"

namespace fixpoint {

// --mode=test: writes the test program of `program`. Empty output: beside it.
struct TestCommand {
  std::string program;
  std::string output;
  bool dry_run = false;
};
absl::StatusOr<ExitCode> RunTestCommand(const TestCommand& command);

// --mode=freeze: freezes `program` with the parameters in `params`, a file or a folder, and writes
// both in the forms they came in. Empty outputs: beside the inputs.
struct FreezeCommand {
  std::string program;
  std::string params;
  std::string output;
  std::string params_output;
  FreezeOptions options;
  bool dry_run = false;
  bool json = false;
};
absl::StatusOr<ExitCode> RunFreezeCommand(const FreezeCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INFERENCE_MODES_H_
