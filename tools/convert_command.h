// `inspect convert`: the same program in another form.

#ifndef FIXPOINT_TOOLS_CONVERT_COMMAND_H_
#define FIXPOINT_TOOLS_CONVERT_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/command_line.h"

namespace fixpoint {

struct ConvertCommand {
  std::string program;
  std::string output;  // gzipped if it ends in .gz
  std::string to;      // "binary", "text" or "protobuf_text"; "": by the output's extension
};

// Writes the same program, whatever form it was in: read again it is the same message.
absl::StatusOr<ExitCode> RunConvertCommand(const ConvertCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_CONVERT_COMMAND_H_
