// What every tool does with its command line: flags that gflags holds, positional arguments, help
// that fits a screen, and one meaning of exit codes.

#ifndef FIXPOINT_TOOLS_COMMAND_LINE_H_
#define FIXPOINT_TOOLS_COMMAND_LINE_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

enum ExitCode : int {
  kDone = 0,
  kAnswerIsNo = 1,   // the work was done: a diff found differences, a verification failed
  kWrongUsage = 2,   // of the command line
  kBadInput = 3,     // missing, unreadable, malformed, or not what it is said to be
  kNotPossible = 4,  // the input is well formed; what is asked of it is not supported
  kCannotWrite = 5,  // an output; nothing half-written is left
  kOwnDefect = 70,
};

// The exit code that an error stands for. kUnavailable is an output that cannot be written.
ExitCode ExitCodeOf(const absl::Status& status);

struct FlagGroup {
  std::string title;               // "Flags of diff:"
  std::vector<std::string> flags;  // names as defined with gflags
};

// What a tool says about itself. A flag that is in no group is unknown to it.
struct ToolHelp {
  std::string name;                // "inspect"
  std::string purpose;             // one sentence
  std::vector<std::string> usage;  // "inspect stats PROGRAM    what it holds", one line each
  std::vector<FlagGroup> flag_groups;
  std::vector<std::string> examples;  // commands that run as they stand
};

struct CommandLine {
  std::vector<std::string> arguments;  // positional ones; "-" is standard input or output
  std::vector<std::string> flags;      // the names of those that were given
  std::optional<ExitCode> exit_code;   // set: there is nothing left to do
};

// Sets the flags that are given, as --name=value, --name value, --name or --noname (bool); what
// follows `--` is positional. --help and --version print to `out` and end with kDone; a flag that
// is unknown or has a bad value prints to `err` and ends with kWrongUsage.
CommandLine ParseCommandLine(int argc, const char* const* argv, const ToolHelp& help,
                             std::ostream& out, std::ostream& err);

// The error for a command line that is wrong in other ways: it ends with kWrongUsage, and the
// message with where to look.
absl::Status UsageError(absl::string_view message);

// Error (of usage): the flag's value is less than `least`.
absl::Status CheckAtLeast(absl::string_view flag, int64_t value, int64_t least);

// The value of a flag that is a list: "a, b" gives "a" and "b".
std::vector<std::string> SplitNames(absl::string_view names);

// The body of main. Goes to the folder that `bazel run` was called from, parses, and calls `run`
// with what is left; prints its error to standard error; gives the exit code.
int RunTool(int argc, const char* const* argv, const ToolHelp& help,
            const std::function<absl::StatusOr<ExitCode>(const CommandLine&)>& run);

// Error (kUnavailable): standard output is closed, or open for reading alone. What is told at the
// end of long work, or once files are written, is asked about before.
absl::Status CheckStandardOutput();

// Writes a result to standard output. A reader that has gone away is no error.
// Error: kUnavailable.
absl::Status WriteStandardOutput(absl::string_view bytes);

// An error (of usage) if `path` is "-" and standard output is a terminal: for what is not text.
absl::Status CheckBinaryOutput(absl::string_view path);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COMMAND_LINE_H_
