// `inspect ranges`: what a program has learned of the values that it quantizes, in our words or in
// those of other tools.

#ifndef FIXPOINT_TOOLS_RANGES_COMMAND_H_
#define FIXPOINT_TOOLS_RANGES_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "tools/command_line.h"

namespace fixpoint {

struct RangesCommand {
  std::string program;
  std::string params;
  std::string format;                          // table, json, nni, nni3, tensorrt or glow
  std::string output;                          // "": standard output
  const QuantizerTable* quantizers = nullptr;  // not null
};

// Errors: a usage error without parameters, or for a format that there is not; those of
// FindLearnedRanges and of what writes the form.
absl::StatusOr<ExitCode> RunRangesCommand(const RangesCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_RANGES_COMMAND_H_
