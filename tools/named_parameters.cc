#include "tools/named_parameters.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "runtime/parameter_file.h"
#include "runtime/staged_directory.h"
#include "tools/named_program.h"

namespace fixpoint {
namespace {

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace

std::vector<std::string> ParameterInputs(const std::string& params, const ProgramDesc& program) {
  std::vector<std::string> inputs = {params};
  if (!IsFolder(params)) return inputs;
  for (const ParameterInfo& parameter : ParametersOf(program)) {
    inputs.push_back(absl::StrCat(params, "/", parameter.name));
  }
  return inputs;
}

std::string ParamsBeside(const std::string& params, const std::string& word) {
  // In a folder's name, what follows a dot is no extension.
  return IsFolder(params) ? absl::StrCat(absl::StripSuffix(params, "/"), ".", word)
                          : Beside(params, word);
}

absl::Status StageParameters(const ProgramDesc& program, const Scope& parameters,
                             const std::string& params, const std::string& path, Outputs* outputs) {
  if (IsFolder(params)) {
    ASSIGN_OR_RETURN(StagedDirectory folder, StageSeparateParameters(program, parameters, path));
    outputs->Hold(std::move(folder));
  } else {
    ASSIGN_OR_RETURN(AtomicFile file, StageCombinedParameters(program, parameters, path));
    outputs->Hold(std::move(file));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
