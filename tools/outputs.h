// The files that a command writes: all of them or none, and never onto what it reads.

#ifndef FIXPOINT_TOOLS_OUTPUTS_H_
#define FIXPOINT_TOOLS_OUTPUTS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/atomic_file.h"
#include "runtime/staged_directory.h"

namespace fixpoint {

// Error (of usage): more than one of the paths is "-", which can be read once.
absl::Status CheckInputs(const std::vector<std::string>& inputs);

// Writes what a command tells of its work: to standard output, or to standard error where an output
// goes to standard output. Error: kUnavailable.
absl::Status WriteReport(const std::string& text, bool output_is_taken);

// Writes what is to be known beside a report, of the program in the file `path`, to standard error:
// a line each.
void WriteNotes(const std::string& path, const std::vector<std::string>& notes);

class Outputs {
 public:
  // `inputs`: the paths that the command reads; "" and "-" among them do not matter.
  explicit Outputs(std::vector<std::string> inputs) : inputs_(std::move(inputs)) {}

  // Error (of usage): `path` is, by this or another name, one of the inputs, or was claimed before.
  // "-" is standard output, which is claimed once too.
  absl::Status Claim(const std::string& path);

  // Whether "-" was claimed: reports then go to standard error.
  bool to_standard_output() const { return to_standard_output_; }

  // Holds what is to stand at a path, beside it: what `write` gives to its sink. Errors: those of
  // `write`; kUnavailable.
  absl::Status Stage(const std::string& path,
                     const std::function<absl::Status(const ByteSink&)>& write);
  absl::Status Stage(const std::string& path, absl::string_view bytes);

  // Holds what was staged elsewhere.
  void Hold(AtomicFile file) { files_.push_back(std::move(file)); }
  void Hold(StagedDirectory folder) { folders_.push_back(std::move(folder)); }

  // Puts everything that was staged in its place. Error: kUnavailable; also where standard output,
  // on which that would be told, cannot be written.
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
