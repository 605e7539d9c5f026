#include "tests/command_fuzz/judge.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tools/command_line.h"

namespace fixpoint {
namespace {

// Files are small, and so is the work of tools on them.
constexpr int64_t kMostMemory = int64_t{2} << 30;
constexpr int kFramesOfASignature = 3;

bool Has(const ToolCommand& command, absl::string_view argument) {
  return std::any_of(command.arguments.begin(), command.arguments.end(),
                     [&](const std::string& each) { return each == argument; });
}

// The value of the first --name=value; "" where there is none.
std::string ValueOf(const ToolCommand& command, absl::string_view name) {
  const std::string prefix = absl::StrCat("--", name, "=");
  for (const std::string& argument : command.arguments) {
    if (absl::StartsWith(argument, prefix)) return argument.substr(prefix.size());
  }
  return "";
}

// Whether a flag without a value is given, or one that says yes.
bool IsOn(const ToolCommand& command, absl::string_view name) {
  const std::string value = ValueOf(command, name);
  return Has(command, absl::StrCat("--", name)) || value == "1" || value == "true";
}

bool IsSanitizerReport(const std::string& err) {
  for (const char* mark : {"ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
                           "runtime error: ", "AddressSanitizer:"}) {
    if (absl::StrContains(err, mark)) return true;
  }
  return false;
}

// A sanitizer's operator new ends the process where the real one throws what the tools catch.
bool IsSanitizersEndOfMemory(const std::string& err) {
  return absl::StrContains(err, "allocation-size-too-big") ||
         absl::StrContains(err, "out-of-memory") || absl::StrContains(err, "hard rss limit");
}

bool MayAnswerNo(const ToolCommand& command) {
  if (command.tool == "infer" || command.tool == "quantize") return true;
  return command.tool == "inspect" && (Has(command, "verify") || Has(command, "diff"));
}

// Files that a failed run leaves on purpose: its measurements, the state to continue from, and the
// program that shows a defect.
bool MayBeLeft(const ToolCommand& command, const ToolRun& run, const std::string& path) {
  if (run.exit_code == kOwnDefect && absl::EndsWith(path, ".failing.txt")) return true;
  if (command.tool == "quantize") {
    return absl::StartsWith(path, ValueOf(command, "output") + ".partial/");
  }
  if (command.tool != "train") return false;
  const std::string metrics = ValueOf(command, "metrics");
  const std::string checkpoints = ValueOf(command, "checkpoint_dir");
  return path == metrics || (!checkpoints.empty() && absl::StartsWith(path, checkpoints + "/"));
}

bool FilesWereChanged(const ToolCommand& command, const ToolRun& run, const Files& before,
                      const Files& after) {
  for (const auto& [path, bytes] : before) {
    const auto found = after.find(path);
    if (found != after.end() && found->second == bytes) continue;
    if (!MayBeLeft(command, run, path)) return true;
  }
  return std::any_of(after.begin(), after.end(), [&](const auto& file) {
    return before.count(file.first) == 0 && !MayBeLeft(command, run, file.first);
  });
}

bool LacksItsOutput(const ToolCommand& command, const Files& after) {
  const std::string output = ValueOf(command, "output");
  if (output.empty() || output == "-") return false;
  for (const char* flag : {"dry_run", "help", "version"}) {
    if (IsOn(command, flag)) return false;
  }
  const bool is_there = std::any_of(after.begin(), after.end(), [&](const auto& file) {
    return file.first == output || absl::StartsWith(file.first, output + "/");
  });
  return !is_there;
}

std::string FirstLineWith(const std::string& text, absl::string_view mark) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StrContains(line, mark)) return std::string(line);
  }
  return "";
}

std::string LastLine(const std::string& text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : std::string(lines.back());
}

// The first of our functions on a sanitizer's stack.
std::string FramesOf(const std::string& err) {
  std::string frames;
  int count = 0;
  for (absl::string_view line : absl::StrSplit(err, '\n')) {
    const size_t begin = line.find(" in fixpoint::");
    if (begin == absl::string_view::npos || count == kFramesOfASignature) continue;
    absl::StrAppend(&frames, " ", line.substr(begin + 4, line.find('(') - begin - 4));
    ++count;
  }
  return frames;
}

// A message without its quoted parts, and with N for numbers.
std::string WithoutNames(absl::string_view message) {
  std::string kept;
  bool quoted = false;
  for (const char c : message) {
    if (c == '"') quoted = !quoted;
    if (quoted || c == '"') continue;
    if (!absl::ascii_isdigit(c)) {
      kept.push_back(c);
    } else if (kept.empty() || kept.back() != 'N') {
      kept.push_back('N');
    }
  }
  return kept.substr(0, 160);
}

}  // namespace

std::optional<std::string> WhatIsWrong(const ToolCommand& command, const ToolRun& run,
                                       const Files& before, const Files& after) {
  if (run.timed_out) return "a hang";
  if (IsSanitized() && IsSanitizersEndOfMemory(run.err)) return std::nullopt;
  if (IsSanitizerReport(run.err)) return "a sanitizer's report";
  if (run.signal != 0) return absl::StrCat("signal ", run.signal);
  if (run.exit_code == kOwnDefect) return "exit 70";
  if (run.exit_code > kCannotWrite || (run.exit_code == kAnswerIsNo && !MayAnswerNo(command))) {
    return absl::StrCat("exit ", run.exit_code);
  }
  if (!IsSanitized() && run.peak_bytes > kMostMemory) return "memory";
  if (run.exit_code > kAnswerIsNo) {
    const std::string prefix = command.tool + ":";
    const absl::string_view message = absl::StripAsciiWhitespace(run.err);
    if (message.empty() || message == prefix) return "no message";
    if (FilesWereChanged(command, run, before, after)) return "files were changed";
  }
  if (run.exit_code == kDone && LacksItsOutput(command, after)) return "no output";
  return std::nullopt;
}

std::string SignatureOf(const ToolCommand& command, const ToolRun& run, const std::string& wrong) {
  const std::string about = absl::StrCat(command.tool, ", ", wrong, ":");
  if (run.exit_code == kDone) return about;  // what it says is its result
  const std::string frames = FramesOf(run.err);
  if (!frames.empty()) return absl::StrCat(about, frames);
  // A failed CHECK says where it stands; the rest of its report is addresses.
  std::string line = FirstLineWith(run.err, "Check failed");
  if (line.empty()) line = FirstLineWith(run.err, "] ");
  if (line.empty()) line = FirstLineWith(run.err, command.tool + ": ");
  if (line.empty()) line = LastLine(run.err);
  return absl::StrCat(about, " ", WithoutNames(line));
}

}  // namespace fixpoint
