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
#include "proto/program.h"
#include "proto/program_file.h"
#include "tools/outputs.h"

namespace fixpoint {

struct NamedProgram {
  Program program;
  ProgramFormat format;
};

// Errors: those of LoadProgram and Program::Create.
absl::StatusOr<NamedProgram> LoadNamedProgram(const std::string& path);

// Keeps what is not worth destroying, since the process ends with it: giving up a large program
// takes longer than writing it.
template <typename T>
T& KeepUntilExit(T value) {
  static auto& kept = *new std::deque<T>;
  return kept.emplace_back(std::move(value));
}

// Of a file: "dir/lenet.pdmodel.gz" and "quantized" give "dir/lenet.quantized.pdmodel"; a name
// without an extension gets the word at its end. What comes from standard input goes to standard
// output.
std::string Beside(const std::string& path, const std::string& word);

// The error, after the name of the file that it is about.
absl::Status InFile(const std::string& path, const absl::Status& status);

// The variable of block 0 that a flag names. Error (of usage): there is none; which it may be, or
// where no name is near, which are `likely`.
absl::StatusOr<const Variable*> FindForFlag(absl::string_view flag, const std::string& name,
                                            const Program& program, const std::string& path,
                                            const std::vector<const Variable*>& likely = {});

// Of all blocks.
int OpCount(const Program& program);

// What a dry run tells of a program that it would write: "would write FILE; ops: 12 before, 8
// after".
std::string DryRunText(const std::string& output, int ops_before, int ops_after);

// Claims the path of a program to write. Error (of usage): that of Claim; bytes on a terminal.
absl::Status ClaimProgram(const std::string& path, ProgramFormat format, Outputs* outputs);

// Stages a program at a path that was claimed. Errors: those of WriteProgram and Stage.
absl::Status StageProgram(const Program& program, ProgramFormat format, const std::string& path,
                          Outputs* outputs);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NAMED_PROGRAM_H_
