#include "runtime/inference_model.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/program_file.h"
#include "runtime/parameter_file.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

constexpr char kProgramExtension[] = ".pdmodel";
constexpr char kParametersExtension[] = ".pdiparams";

struct ModelFiles {
  std::string program;
  std::string parameters;
};

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

ModelFiles WithPrefix(const std::string& prefix) {
  return {absl::StrCat(prefix, kProgramExtension), absl::StrCat(prefix, kParametersExtension)};
}

absl::StatusOr<ModelFiles> FindInFolder(const std::string& folder) {
  if (const std::string model = absl::StrCat(folder, "/__model__"); IsFile(model)) {
    const std::string combined = absl::StrCat(folder, "/__params__");
    return ModelFiles{model, IsFile(combined) ? combined : folder};
  }
  std::error_code error;
  std::vector<std::string> prefixes;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() != kProgramExtension) continue;
    prefixes.push_back((entry->path().parent_path() / entry->path().stem()).string());
  }
  if (prefixes.size() == 1) return WithPrefix(prefixes.front());
  return absl::NotFoundError(absl::StrCat(folder, ": has no __model__ and ", prefixes.size(),
                                          " files *", kProgramExtension,
                                          "; want one, or its path without the extension"));
}

absl::StatusOr<ModelFiles> FindModelFiles(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return FindInFolder(path);
  ModelFiles files = WithPrefix(path);
  if (IsFile(files.program)) return files;
  return absl::NotFoundError(absl::StrCat(path, ": is not a folder, and there is no ",
                                          files.program,
                                          "; want a model as transpile --mode=freeze writes it"));
}

}  // namespace

absl::Status SaveInferenceModel(const ProgramDesc& program, const Scope& scope,
                                const std::string& prefix) {
  ASSIGN_OR_RETURN(AtomicFile parameters,
                   StageCombinedParameters(program, scope, absl::StrCat(prefix, ".pdiparams")));
  RETURN_IF_ERROR(SaveProgram(program, ProgramFormat::kBinary, absl::StrCat(prefix, ".pdmodel")));
  return parameters.Commit();
}

absl::Status WriteInferenceModel(const ProgramDesc& program, const Scope& scope,
                                 const std::string& name, StagedDirectory* folder) {
  const ModelFiles files = WithPrefix(name);
  ASSIGN_OR_RETURN(AtomicFile file, folder->CreateFile(files.program));
  RETURN_IF_ERROR(WriteProgram(program, ProgramFormat::kBinary, files.program,
                               [&file](absl::string_view bytes) { return file.Append(bytes); }));
  RETURN_IF_ERROR(file.Commit());
  return WriteCombinedParameters(program, scope, files.parameters, folder);
}

absl::StatusOr<InferenceModel> LoadInferenceModel(const std::string& path) {
  ASSIGN_OR_RETURN(const ModelFiles files, FindModelFiles(path));
  ASSIGN_OR_RETURN(LoadedProgram loaded, LoadProgram(files.program));
  ASSIGN_OR_RETURN(Program program, Program::Create(std::move(loaded.program), files.program));
  InferenceModel model{std::move(program), Scope()};
  if (!ParametersOf(model.program.Proto()).empty()) {
    ASSIGN_OR_RETURN(model.parameters, LoadParameters(model.program.Proto(), files.parameters));
  }
  return model;
}

}  // namespace fixpoint
