#include "tests/docs/example_parameters.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/reference_data.h"
#include "tests/testing/saved_parameters.h"
#include "tests/testing/temporary_folder.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

absl::StatusOr<std::vector<GeneratedFile>> ExampleParameters(const std::string& root) {
  const std::string base = absl::StrCat(root, "/examples/data/conv");
  ASSIGN_OR_RETURN(LoadedProgram loaded, LoadProgram(base + ".train.txt"));
  ASSIGN_OR_RETURN(Program program, Program::Create(std::move(loaded.program)));
  RETURN_IF_ERROR(Transpile(&program).status());
  const std::string numbers = root + "/examples/data/conv_parameters.txt";
  ASSIGN_OR_RETURN(const Scope scope, ParseParameters(ReadFileOrDie(numbers), numbers));
  const TemporaryFolder folder;
  RETURN_IF_ERROR(SaveSeparateParameters(program.Proto(), scope, folder.Path()));
  std::vector<GeneratedFile> files;
  for (const std::string& name : folder.Files()) {
    files.push_back({"examples/data/conv_parameters/" + name, folder.Read(name)});
  }
  return files;
}

}  // namespace fixpoint
