#include "tools/named_program.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "proto/program/feeds_and_fetches.h"
#include "tools/command_line.h"

namespace fixpoint {

absl::StatusOr<NamedProgram> LoadNamedProgram(const std::string& path) {
  ASSIGN_OR_RETURN(LoadedProgram loaded, LoadProgram(path));
  ASSIGN_OR_RETURN(Program program, Program::Create(std::move(loaded.program), InputName(path)));
  return NamedProgram{std::move(program), loaded.format};
}

std::string Beside(const std::string& path, const std::string& word) {
  if (path == "-") return path;
  const std::string plain(absl::StripSuffix(path, ".gz"));
  const size_t slash = plain.rfind('/');
  const size_t dot = plain.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash) || dot == 0) {
    return absl::StrCat(plain, ".", word);
  }
  return absl::StrCat(plain.substr(0, dot), ".", word, plain.substr(dot));
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<const Variable*> FindForFlag(absl::string_view flag, const std::string& name,
                                            const Program& program, const std::string& path,
                                            const std::vector<const Variable*>& likely) {
  const Variable* variable = program.Find(program.block(0), name);
  if (variable != nullptr) return variable;
  const std::string nearest = DidYouMean(name, NamesOf(program.block(0).variables()));
  return UsageError(absl::StrCat("--", flag, ": block 0 of ", path, " has no variable \"", name,
                                 "\"",
                                 nearest.empty() ? OfferNames(name, NamesOf(likely)) : nearest));
}

int OpCount(const Program& program) {
  int count = 0;
  for (int b = 0; b < program.block_count(); ++b) count += program.block(b).op_count();
  return count;
}

std::string DryRunText(const std::string& output, int ops_before, int ops_after) {
  return absl::StrCat("would write ", output, "; ops: ", ops_before, " before, ", ops_after,
                      " after\n");
}

absl::Status ClaimProgram(const std::string& path, ProgramFormat format, Outputs* outputs) {
  RETURN_IF_ERROR(outputs->Claim(path));
  return format == ProgramFormat::kBinary ? CheckBinaryOutput(path) : absl::OkStatus();
}

absl::Status StageProgram(const Program& program, ProgramFormat format, const std::string& path,
                          Outputs* outputs) {
  const std::string name = path == "-" ? "standard output" : path;
  return outputs->Stage(path, [&](const ByteSink& sink) {
    return WriteProgram(program.Proto(), format, name, sink);
  });
}

}  // namespace fixpoint
