// Programs as a command line names them.

#ifndef FIXPOINT_TOOLS_NAMED_PROGRAM_H_
#define FIXPOINT_TOOLS_NAMED_PROGRAM_H_

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "tools/outputs.h"

namespace fixpoint {

struct NamedProgram {
  Program program;
  ProgramFormat format;
};

// Errors: those of LoadProgram and Program::Create.
absl::StatusOr<NamedProgram> LoadNamedProgram(const std::string& path);

// Keeps an object that is not worth destroying because the process is about to end: freeing a large
// program takes longer than writing it.
template <typename T>
T& KeepUntilExit(T value) {
  static auto& kept = *new std::deque<T>;
  return kept.emplace_back(std::move(value));
}

// The name of an output: "dir/lenet.pdmodel.gz" and "quantized" give "dir/lenet.quantized.pdmodel";
// the word is appended to a name without an extension. The output of standard input is standard
// output.
std::string Beside(const std::string& path, const std::string& word);

// The error, prefixed with the name of the file that it is about.
absl::Status InFile(const std::string& path, const absl::Status& status);

// Finds the variable of block 0 that a flag names. A usage error if there is none, with similar
// names or, if there are none, those in `likely`.
absl::StatusOr<const Variable*> FindForFlag(absl::string_view flag, const std::string& name,
                                            const Program& program, const std::string& path,
                                            const std::vector<const Variable*>& likely = {});

// The ops of all blocks.
int OpCount(const Program& program);

// What a dry run prints about a program that it would write: "would write FILE; ops: 12 before, 8
// after".
std::string DryRunText(const std::string& output, int ops_before, int ops_after);

// The note on a program that a command leaves as it is, where no output is named.
inline constexpr char kNotWrittenNote[] = "nothing in the program was changed; it is not written";

// Claims the path of a program to write. Usage errors: those of Claim; binary output on a terminal.
absl::Status ClaimProgram(const std::string& path, ProgramFormat format, Outputs* outputs);

// Stages a program at a path that was claimed. Errors: those of WriteProgram and Stage.
absl::Status StageProgram(const Program& program, ProgramFormat format, const std::string& path,
                          Outputs* outputs);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NAMED_PROGRAM_H_
