// Bad input as files that read as a table: what a folder holds, a command line, and what the tool
// says of it.
//
//   # What the cases of this file have in common.
//   ---- net.txt
//   (a file that every case's folder holds)
//   ==== What is wrong in this case
//   $ transpile --mode=freeze --params=w.params net.txt
//   ---- w.params (parameters)
//   w f32[2] 1 nan
//   ---- exit 3
//   (what standard error says; a line that ends in " ..." stands for all that begin as it does)
//   ---- prints
//   (what standard output says; no such section where that is nothing)
//
// A file's kind stands after its name: (hex) bytes; (parameters) a combined parameter file, a
// tensor a line as in parameter_text.h; (npz) the same as an archive of NumPy; (binary) a program's
// text as the protobuf message; (gzip) compressed; (nested N) the section's first line N times and
// its second line N times, with {i} for the number of the repetition, {i-1} for the one before and
// \n for a line's end. A name that ends in / is a folder; "a -> b" is a symbolic link; "standard
// input" is what the tool reads there.

#ifndef FIXPOINT_TESTS_HOSTILE_HOSTILE_CASE_H_
#define FIXPOINT_TESTS_HOSTILE_HOSTILE_CASE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

struct HostileFile {
  std::string header;  // "w.params (parameters)"
  std::string text;
};

struct HostileCase {
  std::string title;
  std::string command;  // "transpile net.txt"
  std::vector<HostileFile> files;
  int exit_code = 0;
  std::string error;
  std::string output;
};

struct HostileTable {
  std::string comment;              // with its # and line ends
  std::vector<HostileFile> common;  // what every case has
  std::vector<HostileCase> cases;
};

// Error (kInvalidArgument): the text is no such table.
absl::StatusOr<HostileTable> ParseHostileTable(absl::string_view text, absl::string_view name);
std::string PrintHostileTable(const HostileTable& table);

// Runs the case's command in a folder of its own: the same case with what the tool says.
// Errors (kInternal): the folder is not as it was although the exit code says that nothing was
// done; (kInvalidArgument): a file of the case is not what its kind says.
absl::StatusOr<HostileCase> RunHostileCase(const HostileTable& table, const HostileCase& wanted);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_HOSTILE_HOSTILE_CASE_H_
