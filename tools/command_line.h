// // What every tool does with its command line: flags that gflags holds, positional arguments,
// help that fits on a screen, and one meaning of exit codes.

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
  kWrongUsage = 2,   // the command line is wrong
  kBadInput = 3,     // missing, unreadable, malformed, or not what it was declared to be
  kNotPossible = 4,  // the input is well formed, but the request is not supported
  kCannotWrite = 5,  // an output failed; nothing half-written is left
  kOwnDefect = 70,
};

// The exit code that an error stands for. kUnavailable is an output that cannot be written.
ExitCode ExitCodeOf(const absl::Status& status);

struct FlagGroup {
  std::string title;               // "Flags of diff:"
  std::vector<std::string> flags;  // names as defined with gflags
};

// The description of a tool. A flag that is in no group is unknown to it.
struct ToolHelp {
  std::string name;                // "inspect"
  std::string purpose;             // one sentence
  std::vector<std::string> usage;  // "inspect stats PROGRAM    what it holds", one line each
  std::vector<FlagGroup> flag_groups;
  std::vector<std::string> examples;  // commands that run as they stand
  // Flags that may be given several times: lists, comma separated, to which each adds.
  std::vector<std::string> repeatable = {};
};

struct CommandLine {
  std::vector<std::string> arguments;  // positional ones; "-" is standard input or output
  std::vector<std::string> flags;      // the names of the flags that were given
  std::optional<ExitCode> exit_code;   // set if there is nothing left to do

  bool IsGiven(absl::string_view flag) const;
};

// Sets the flags that are given, as --name=value, --name value, --name or --noname (bool); what
// follows `--` is positional. --help and --version print to `out` and end with kDone; a flag that
// is unknown or has a bad value prints to `err` and ends with kWrongUsage.
CommandLine ParseCommandLine(int argc, const char* const* argv, const ToolHelp& help,
                             std::ostream& out, std::ostream& err);

// The error for a command line that is wrong in another way: the tool ends with kWrongUsage, and
// the message says where to look.
absl::Status UsageError(absl::string_view message);

// A usage error if the flag's value is less than `least`.
absl::Status CheckAtLeast(absl::string_view flag, int64_t value, int64_t least);

// The value of a flag that is a list: "a, b" gives "a" and "b".
std::vector<std::string> SplitNames(absl::string_view names);

// The body of main. Changes to the folder that `bazel run` was called from, parses, and calls `run`
// with the rest; prints its error to standard error; returns the exit code.
int RunTool(int argc, const char* const* argv, const ToolHelp& help,
            const std::function<absl::StatusOr<ExitCode>(const CommandLine&)>& run);

// Error (kUnavailable): standard output is closed, or open for reading only. Called before long
// work, or before files are written, whose result is printed at the end.
absl::Status CheckStandardOutput();

// Writes a result to standard output. A reader that has gone away is no error. Error: kUnavailable.
absl::Status WriteStandardOutput(absl::string_view bytes);

// A usage error if `path` is "-" and standard output is a terminal; for output that is not text.
absl::Status CheckBinaryOutput(absl::string_view path);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COMMAND_LINE_H_
