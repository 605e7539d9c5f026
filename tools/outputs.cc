#include "tools/outputs.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "tools/command_line.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

// Whether two paths name one file, which need not exist yet.
bool AreOneFile(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path whole_a = fs::weakly_canonical(fs::absolute(a, error), error);
  const fs::path whole_b = fs::weakly_canonical(fs::absolute(b, error), error);
  return !whole_a.empty() && whole_a == whole_b;
}

}  // namespace

absl::Status CheckInputs(const std::vector<std::string>& inputs) {
  if (std::count(inputs.begin(), inputs.end(), "-") <= 1) return absl::OkStatus();
  return UsageError("only one input can be standard input");
}

absl::Status WriteReport(const std::string& text, bool output_is_taken) {
  if (!output_is_taken) return WriteStandardOutput(text);
  std::cerr << text;
  return absl::OkStatus();
}

void WriteNotes(const std::string& path, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::cerr << path << ": " << note << "\n";
}

absl::Status Outputs::Claim(const std::string& path) {
  if (path == "-") {
    if (std::exchange(to_standard_output_, true)) {
      return UsageError("only one output can go to standard output");
    }
    return absl::OkStatus();
  }
  for (const std::string& input : inputs_) {
    if (!input.empty() && input != "-" && AreOneFile(input, path)) {
      return UsageError(absl::StrCat("the output ", path == input ? "" : absl::StrCat(path, " "),
                                     "would replace the input ", input));
    }
  }
  for (const std::string& other : claimed_) {
    if (AreOneFile(other, path)) {
      return UsageError(absl::StrCat("two outputs would be written to ", path));
    }
  }
  claimed_.push_back(path);
  return absl::OkStatus();
}

absl::Status Outputs::Stage(const std::string& path,
                            const std::function<absl::Status(const ByteSink&)>& write) {
  if (path == "-") {
    return write([&](absl::string_view bytes) {
      absl::StrAppend(&standard_output_, bytes);
      return absl::OkStatus();
    });
  }
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(write([&](absl::string_view bytes) { return file.Append(bytes); }));
  files_.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status Outputs::Stage(const std::string& path, absl::string_view bytes) {
  return Stage(path, [&](const ByteSink& sink) { return sink(bytes); });
}

absl::Status Outputs::Commit() {
  RETURN_IF_ERROR(CheckStandardOutput());
  // The stream comes first: if that fails (a full device), the files are as they were.
  RETURN_IF_ERROR(WriteStandardOutput(standard_output_));
  for (StagedDirectory& folder : folders_) RETURN_IF_ERROR(folder.Commit());
  for (AtomicFile& file : files_) RETURN_IF_ERROR(file.Commit());
  return absl::OkStatus();
}

}  // namespace fixpoint
