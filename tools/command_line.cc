#include "tools/command_line.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/base/version.h"
#include "proto/file/atomic_file.h"

namespace fixpoint {
namespace {

// Marks the errors of UsageError.
constexpr char kUsagePayload[] = "fixpoint/usage";

constexpr char kDefectAdvice[] =
    "This is a defect of Fixpoint, or of a plugin, and not of its input. Please report it, with "
    "this "
    "message, the command line and the program that it was given.";

// What a flag of one of gflags' types takes, other than a string.
std::string ValueOf(absl::string_view type) {
  if (type == "bool") return "true or false";
  if (type == "double") return "a number";
  return absl::StrCat("a whole number of ", absl::StrContains(type, "64") ? 64 : 32, " bits",
                      type[0] == 'u' ? " that is not negative" : "");
}

std::vector<std::string> FlagNames(const ToolHelp& help) {
  std::vector<std::string> names = {"help", "version"};
  for (const FlagGroup& group : help.flag_groups) {
    names.insert(names.end(), group.flags.begin(), group.flags.end());
  }
  return names;
}

std::string FlagHelp(const std::string& name) {
  const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  const bool is_bool = flag.type == "bool";
  const bool is_on = is_bool && flag.default_value == "true";
  const std::string left =
      absl::StrCat("--", is_on ? "no" : "", name, is_bool ? "" : absl::StrCat("=", flag.type));
  std::string value = flag.default_value;
  double number = 0;
  // gflags writes 0.6 with all the digits of the nearest double.
  if (flag.type == "double" && absl::SimpleAtod(value, &number)) value = absl::StrCat(number);
  const std::string tail = is_bool || value.empty() ? "" : absl::StrCat(" [", value, "]");
  return absl::StrFormat("  %-24s %s%s\n", left, flag.description, tail);
}

std::string HelpText(const ToolHelp& help) {
  std::string text = absl::StrCat(help.name, ": ", help.purpose, "\n\n");
  for (const std::string& line : help.usage) absl::StrAppend(&text, "  ", line, "\n");
  // Without lines between the groups, so that the help fits a screen.
  text += "\n";
  for (const FlagGroup& group : help.flag_groups) {
    absl::StrAppend(&text, group.title, "\n");
    for (const std::string& name : group.flags) text += FlagHelp(name);
  }
  if (!help.examples.empty()) text += "Examples:\n";
  for (const std::string& example : help.examples) absl::StrAppend(&text, "  ", example, "\n");
  return text;
}

std::string SeeHelp(const ToolHelp& help) {
  return absl::StrCat(help.name, " --help shows the usage\n");
}

class CommandLineParser {
 public:
  CommandLineParser(int argc, const char* const* argv, const ToolHelp& help)
      : words_(argv + std::min(argc, 1), argv + argc), help_(help), known_(FlagNames(help)) {}

  CommandLine Parse(std::ostream& out, std::ostream& err) {
    if (const absl::Status status = ParseWords(out); !status.ok()) {
      err << help_.name << ": " << status.message() << "\n" << SeeHelp(help_);
      line_.exit_code = kWrongUsage;
    }
    return std::move(line_);
  }

 private:
  absl::Status ParseWords(std::ostream& out) {
    for (size_t i = 0; i < words_.size() && !line_.exit_code; ++i) {
      const std::string& word = words_[i];
      if (word == "--") {
        line_.arguments.insert(line_.arguments.end(), words_.begin() + i + 1, words_.end());
        break;
      }
      if (word.size() < 2 || word[0] != '-') {
        line_.arguments.push_back(word);
        continue;
      }
      const absl::string_view flag = absl::StripPrefix(absl::StripPrefix(word, "-"), "-");
      const size_t equals = flag.find('=');
      const std::string name(flag.substr(0, equals));
      std::optional<std::string> value;
      if (equals != absl::string_view::npos) value = std::string(flag.substr(equals + 1));
      if (name == "help" || name == "h") {
        out << HelpText(help_);
        line_.exit_code = kDone;
      } else if (name == "version") {
        out << help_.name << " (Fixpoint) " << FIXPOINT_VERSION << "\n";
        line_.exit_code = kDone;
      } else {
        RETURN_IF_ERROR(SetFlag(name, value, &i));
      }
    }
    return absl::OkStatus();
  }

  bool IsKnown(absl::string_view name) const {
    return std::find(known_.begin(), known_.end(), name) != known_.end();
  }

  // `at`: the flag's place among the words; advanced if the next one is its value.
  absl::Status SetFlag(std::string name, std::optional<std::string> value, size_t* at) {
    bool negated = false;
    if (!IsKnown(name) && absl::StartsWith(name, "no") && IsKnown(name.substr(2))) {
      name = name.substr(2);
      negated = true;
    }
    if (!IsKnown(name)) {
      return UsageError(absl::StrCat("unknown flag --", name, Suggestion(name)));
    }
    const std::string type = gflags::GetCommandLineFlagInfoOrDie(name.c_str()).type;
    if (negated && (type != "bool" || value)) {
      return UsageError(absl::StrCat("unknown flag --no", name, "; only a switch has a --no form, ",
                                     "and that takes no value"));
    }
    if (type == "bool" && !value) value = negated ? "false" : "true";
    if (!value) {
      if (*at + 1 == words_.size()) {
        return UsageError(absl::StrCat("--", name, " needs a value",
                                       type == "string" ? "" : ", " + ValueOf(type)));
      }
      value = words_[++*at];
    }
    const bool is_again = line_.IsGiven(name);
    if (is_again) {
      if (!IsRepeatable(name)) return UsageError(absl::StrCat("--", name, " is given twice"));
      std::string before;
      gflags::GetCommandLineOption(name.c_str(), &before);
      value = absl::StrCat(before, ",", *value);
    }
    if (gflags::SetCommandLineOption(name.c_str(), value->c_str()).empty()) {
      return UsageError(absl::StrCat("--", name, "=", *value, ": want ", ValueOf(type)));
    }
    if (!is_again) line_.flags.push_back(name);
    return absl::OkStatus();
  }

  bool IsRepeatable(absl::string_view name) const {
    return std::count(help_.repeatable.begin(), help_.repeatable.end(), name) > 0;
  }

  std::string Suggestion(const std::string& name) const {
    const std::string nearest = NearestName(name, known_);
    return nearest.empty() ? "" : absl::StrCat("; did you mean --", nearest, "?");
  }

  const std::vector<std::string> words_;
  const ToolHelp& help_;
  const std::vector<std::string> known_;
  CommandLine line_;
};

// `bazel run` starts a tool in its runfiles, and passes the folder that it was called from.
absl::Status ReturnToCallersDirectory() {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || chdir(folder) == 0) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(folder, ": ", std::strerror(errno),
                                          "; it is the folder that the tool was called from"));
}

// A closed standard stream is opened in the wrong direction: using it is then an error, and no file
// that is opened later gets its number.
void OccupyStandardStreams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_open = fcntl(descriptor, F_GETFD) >= 0;
    // open() returns the lowest free number.
    if (!is_open) open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// A failed CHECK ends here, after its message was printed.
[[noreturn]] void EndAsDefect() {
  std::cerr << kDefectAdvice << std::endl;
  _exit(kOwnDefect);
}

int ReportError(const absl::Status& status, const ToolHelp& help) {
  std::cerr << help.name << ": " << status.message() << "\n";
  const ExitCode code = ExitCodeOf(status);
  if (code == kWrongUsage) std::cerr << SeeHelp(help);
  if (code == kOwnDefect) std::cerr << kDefectAdvice << "\n";
  return code;
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.GetPayload(kUsagePayload)) return kWrongUsage;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
      return kBadInput;
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
      return kNotPossible;
    case absl::StatusCode::kUnavailable:
      return kCannotWrite;
    default:
      return kOwnDefect;
  }
}

bool CommandLine::IsGiven(absl::string_view flag) const {
  return std::count(flags.begin(), flags.end(), flag) > 0;
}

CommandLine ParseCommandLine(int argc, const char* const* argv, const ToolHelp& help,
                             std::ostream& out, std::ostream& err) {
  return CommandLineParser(argc, argv, help).Parse(out, err);
}

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

absl::Status CheckAtLeast(absl::string_view flag, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return UsageError(absl::StrCat("--", flag, "=", value, "; want ", least, " or more"));
}

std::vector<std::string> SplitNames(absl::string_view names) {
  std::vector<std::string> split = absl::StrSplit(names, ',', absl::SkipWhitespace());
  for (std::string& name : split) name = std::string(absl::StripAsciiWhitespace(name));
  return split;
}

int RunTool(int argc, const char* const* argv, const ToolHelp& help,
            const std::function<absl::StatusOr<ExitCode>(const CommandLine&)>& run) {
  OccupyStandardStreams();
  // A write to a closed pipe, or beyond the largest file size, is then an error like any other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(help.name.c_str());
  google::InstallFailureFunction(&EndAsDefect);
  std::ostringstream told;
  const CommandLine line = ParseCommandLine(argc, argv, help, told, std::cerr);
  if (const absl::Status status = WriteStandardOutput(told.str()); !status.ok()) {
    return ReportError(status, help);
  }
  if (line.exit_code) return *line.exit_code;
  if (const absl::Status status = ReturnToCallersDirectory(); !status.ok()) {
    return ReportError(status, help);
  }
  try {
    const absl::StatusOr<ExitCode> code = run(line);
    return code.ok() ? *code : ReportError(code.status(), help);
  } catch (const std::bad_alloc&) {
    return ReportError(absl::FailedPreconditionError("there is not enough memory"), help);
  }
}

absl::Status CheckStandardOutput() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return absl::OkStatus();
  return CannotBeWritten("standard output", "it is closed, or open for reading only");
}

absl::Status WriteStandardOutput(absl::string_view bytes) {
  if (bytes.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckStandardOutput());
  while (!bytes.empty()) {
    const ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(written);
    } else if (errno == EPIPE) {
      return absl::OkStatus();
    } else if (errno != EINTR) {
      return CannotBeWritten("standard output");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBinaryOutput(absl::string_view path) {
  if (path != "-" || isatty(STDOUT_FILENO) == 0) return absl::OkStatus();
  return UsageError(
      "standard output is a terminal, and the output is not text; name a file, or pipe it on");
}

}  // namespace fixpoint
