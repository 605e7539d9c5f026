// The mode of `transpile` that rewrites a program by patterns.

#ifndef FIXPOINT_TOOLS_REWRITE_MODE_H_
#define FIXPOINT_TOOLS_REWRITE_MODE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/command_line.h"
#include "transpiler/patterns/pattern.h"
#include "transpiler/patterns/rewrite.h"

namespace fixpoint {

// --mode=rewrite: applies patterns to `program`. Empty output: beside it.
struct RewriteCommand {
  std::string program;
  std::string patterns;  // the file, or "": not to be written over
  std::string output;
  bool dry_run = false;
  bool json = false;
};
absl::StatusOr<ExitCode> RunRewriteCommand(const RewriteCommand& command,
                                           absl::Span<const Pattern> patterns,
                                           const RewriteOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_REWRITE_MODE_H_
