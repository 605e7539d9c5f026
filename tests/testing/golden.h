// Golden tests: text in, text out. A golden file is a comment that says what it shows, settings,
// and sections:
//
//   # Two convolutions read x: it is quantized once.
//   config: activations { quantizer: "abs_max" }
//   ---- program
//   var x f32[-1,3,8,8]
//   ...
//   ---- becomes
//   ...
//
// Sections that are given are made anew from `program` (and `startup`) and compared: `becomes` the
// program, `startup becomes` the startup program, `account` the decisions, `error` the message, of
// which a line that ends in " ..." stands for all that begin as it does.
// With a setting `mode`, golden_inference.h and golden_rewrite.h say what is made.

#ifndef FIXPOINT_TESTS_TESTING_GOLDEN_H_
#define FIXPOINT_TESTS_TESTING_GOLDEN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

struct Golden {
  std::string comment;                                        // with its # and line ends
  std::vector<std::pair<std::string, std::string>> settings;  // "config", "target", "hide", ...
  std::vector<std::pair<std::string, std::string>> sections;  // in the order of the file

  // "" where there is none.
  std::string Setting(absl::string_view name) const;
  const std::string* Section(absl::string_view name) const;
};

// Error (kInvalidArgument): the text is not a golden file.
absl::StatusOr<Golden> ParseGolden(absl::string_view text, absl::string_view name);
std::string PrintGolden(const Golden& golden);

absl::StatusOr<Program> ParseGoldenProgram(const std::string& text, absl::string_view name);
// The program as text, without the edit log and, unless marks are what the golden is about,
// without those.
std::string PrintGoldenProgram(const Program& program, bool marks);

// The same golden with its sections as the code now makes them.
absl::StatusOr<Golden> Regenerate(const Golden& golden, absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_GOLDEN_H_
