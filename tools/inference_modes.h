// The modes of `transpile` that make programs for inference.

#ifndef FIXPOINT_TOOLS_INFERENCE_MODES_H_
#define FIXPOINT_TOOLS_INFERENCE_MODES_H_

#include <string>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "tools/command_line.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/lower/lower.h"
#include "transpiler/prepare/prepare.h"

namespace fixpoint {

// --mode=test: writes the test program of `program`. Empty output: beside it.
struct TestCommand {
  std::string program;
  std::string output;
  bool dry_run = false;
  const QuantizerTable* quantizers = nullptr;  // null: the built-in ones
};
absl::StatusOr<ExitCode> RunTestCommand(const TestCommand& command);

// A program with its parameters, a file or a folder, and where to write both, in the same forms.
// Empty outputs: beside the inputs.
struct ModelCommand {
  std::string program;
  std::string params;
  std::string output;
  std::string params_output;
  bool dry_run = false;
  bool json = false;
  bool explain = false;  // for preparing and lowering: reports every op
  std::string patterns;  // a file that the command reads besides, not to be written over
};

// --mode=prepare
absl::StatusOr<ExitCode> RunPrepareCommand(const ModelCommand& command,
                                           const PrepareOptions& options);

// --mode=freeze
absl::StatusOr<ExitCode> RunFreezeCommand(const ModelCommand& command,
                                          const FreezeOptions& options);

// --mode=lower
absl::StatusOr<ExitCode> RunLowerCommand(const ModelCommand& command, const LowerOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INFERENCE_MODES_H_
