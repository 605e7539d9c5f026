// Programs as a command line names them.

#ifndef FIXPOINT_TOOLS_NAMED_PROGRAM_H_
#define FIXPOINT_TOOLS_NAMED_PROGRAM_H_

#include <deque>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program.h"
#include "proto/program_file.h"

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

// "dir/lenet.pdmodel.gz" and "quantized" give "dir/lenet.quantized.pdmodel"; a name without an
// extension gets the word at its end.
std::string Beside(const std::string& path, const std::string& word);

// An error (of usage) if the output would replace the input, or would be bytes on a terminal.
absl::Status CheckOutput(const std::string& input, const std::string& output, ProgramFormat format);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_NAMED_PROGRAM_H_
