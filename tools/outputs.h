// The files that a command writes: all of them or none, and never over its inputs.

#ifndef FIXPOINT_TOOLS_OUTPUTS_H_
#define FIXPOINT_TOOLS_OUTPUTS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/file/atomic_file.h"
#include "runtime/staged_directory.h"

namespace fixpoint {

// A usage error if more than one of the paths is "-", which can be read only once.
absl::Status CheckInputs(const std::vector<std::string>& inputs);

// Prints a command's report: to standard output, or to standard error if an output goes to standard
// output. Error: kUnavailable.
absl::Status WriteReport(const std::string& text, bool output_is_taken);

// Prints notes about the program in the file `path` to standard error, a line each.
void WriteNotes(const std::string& path, const std::vector<std::string>& notes);

class Outputs {
 public:
  // `inputs`: the paths that the command reads; "" and "-" among them are ignored.
  explicit Outputs(std::vector<std::string> inputs) : inputs_(std::move(inputs)) {}

  // A usage error if `path` is, under this or another name, one of the inputs, or was claimed
  // before. "-" is standard output, which can be claimed only once too.
  absl::Status Claim(const std::string& path);

  // Whether "-" was claimed: reports then go to standard error.
  bool to_standard_output() const { return to_standard_output_; }

  // Stages what `write` gives to its sink, in a file beside `path`. Errors: those of `write`;
  // kUnavailable.
  absl::Status Stage(const std::string& path,
                     const std::function<absl::Status(const ByteSink&)>& write);
  absl::Status Stage(const std::string& path, absl::string_view bytes);

  // Takes over what was staged elsewhere.
  void Hold(AtomicFile file) { files_.push_back(std::move(file)); }
  void Hold(StagedDirectory folder) { folders_.push_back(std::move(folder)); }

  // Moves everything that was staged into place. Error: kUnavailable; also if standard output, on
  // which the report follows, cannot be written.
  absl::Status Commit();

 private:
  std::vector<std::string> inputs_;
  std::vector<std::string> claimed_;
  bool to_standard_output_ = false;
  std::vector<AtomicFile> files_;
  std::vector<StagedDirectory> folders_;
  std::string standard_output_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_OUTPUTS_H_
