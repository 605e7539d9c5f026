#include "tests/command_fuzz/findings.h"

#include <glog/logging.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

constexpr int kKeptOfASignature = 3;

void Write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  CHECK(file.flush()) << path;
}

std::string Quoted(const std::string& word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string ScriptOf(const Finding& finding) {
  std::string script = absl::StrCat(
      "#!/bin/bash\n# ", finding.wrong, "; the argument is the folder of the built tools.\n",
      "here=$(cd \"$(dirname \"$0\")\" && pwd)\n", "tools=$(cd \"$1\" && pwd)\n",
      "copy=$(mktemp -d) && cp -r \"$here/files/.\" \"$copy\" && cd \"$copy\"\n");
  if (finding.command.file_bytes > 0) {
    // bash takes the limit in blocks of 1024 bytes.
    absl::StrAppend(&script, "trap '' XFSZ; ulimit -f ", finding.command.file_bytes / 1024, "\n");
  }
  absl::StrAppend(&script, "env ");
  for (const std::string& variable : finding.command.environment) {
    absl::StrAppend(&script, Quoted(variable), " ");
  }
  absl::StrAppend(&script, "\"$tools/", finding.command.tool, "\"");
  for (const std::string& argument : finding.command.arguments) {
    absl::StrAppend(&script, " ", Quoted(argument));
  }
  absl::StrAppend(&script, " < \"$here/input\"\necho \"exit code $?, in $copy\"\n");
  return script;
}

std::string ReportOf(const Finding& finding) {
  const ToolRun& run = finding.result;
  return absl::StrFormat(
      "%s\nseed %d, run %d; exit code %d, signal %d, %.1f s, %d MiB\n---- standard error\n%s\n"
      "---- standard output\n%s\n",
      finding.signature, finding.seed, finding.run, run.exit_code, run.signal, run.seconds,
      run.peak_bytes >> 20, run.err, run.out.substr(0, 2000));
}

}  // namespace

bool KeepFinding(const std::string& folder, const Finding& finding) {
  fs::create_directories(folder);
  const std::string stem =
      absl::StrFormat("%s/%016x", folder, std::hash<std::string>()(finding.signature));
  for (int i = 0; i < kKeptOfASignature; ++i) {
    const fs::path place = absl::StrCat(stem, "-", i);
    std::error_code error;
    if (!fs::create_directory(place, error)) continue;
    for (const auto& [path, bytes] : finding.files) Write(place / "files" / path, bytes);
    fs::create_directories(place / "files");
    Write(place / "input", finding.command.input);
    Write(place / "report", ReportOf(finding));
    Write(place / "command", ScriptOf(finding));
    fs::permissions(place / "command", fs::perms::owner_exec, fs::perm_options::add);
    return true;
  }
  return false;
}

}  // namespace fixpoint
