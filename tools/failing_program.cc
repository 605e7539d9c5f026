#include "tools/failing_program.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/file/atomic_file.h"
#include "proto/text/program_text.h"
#include "transpiler/report/reduce.h"

namespace fixpoint {
namespace {

// What an error says first, without the numbers, which change as the program gets smaller.
std::string Symptom(const absl::Status& error) {
  std::string line(error.message());
  line.erase(std::find(line.begin(), line.end(), '\n'), line.end());
  line.erase(std::remove_if(line.begin(), line.end(), absl::ascii_isdigit), line.end());
  return line;
}

}  // namespace

absl::Status WithFailingProgram(const absl::Status& error, const ProgramDesc& program,
                                const std::function<absl::Status(const ProgramDesc&)>& run,
                                const std::string& stem, Outputs* outputs) {
  if (error.code() != absl::StatusCode::kInternal) return error;
  const std::string symptom = Symptom(error);
  const auto fails = [&](const ProgramDesc& candidate) {
    const absl::Status status = run(candidate);
    return status.code() == absl::StatusCode::kInternal && Symptom(status) == symptom;
  };
  const ProgramDesc reduced = Reduce(program, fails);
  std::string path = absl::StrCat(stem, ".failing.txt");
  for (int number = 2; !outputs->Claim(path).ok(); ++number) {
    path = absl::StrCat(stem, ".failing.", number, ".txt");
  }
  const absl::Status written = WriteFileAtomically(path, PrintProgram(reduced));
  const std::string where =
      written.ok() ? absl::StrCat("a program that reproduces this is in ", path,
                                  "; please attach it to a report, with the command line")
                   : std::string(written.message());
  return absl::InternalError(absl::StrCat(std::string(error.message()), "\n", where));
}

}  // namespace fixpoint
