// Writes the generated files: the lists, what the code says in pages, example programs and the
// tour's parameters, or, with
// --models, the table of models.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/docs/example_parameters.h"
#include "tests/docs/example_programs.h"
#include "tests/docs/integer_shares.h"
#include "tests/docs/lists.h"
#include "tests/docs/models.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

int WriteGenerated(const std::string& root, bool models) {
  std::vector<GeneratedFile> files;
  if (models) {
    const std::vector<ModelRow> rows = TranspileModels();
    if (rows.empty()) {
      std::cerr << "no reference data beside this checkout (FIXPOINT_REFERENCE_DATA)\n";
      return 1;
    }
    files = {{"docs/models.md", ModelsPage(rows, MeasureIntegerShares())}};
  } else {
    files = ListPages();
    for (const auto& made : {ExamplePrograms(), ExampleParameters(root), QuantizerPages(root)}) {
      if (!made.ok()) {
        std::cerr << made.status() << "\n";
        return 1;
      }
      files.insert(files.end(), made->begin(), made->end());
    }
    const absl::StatusOr<GeneratedFile> manual =
        ManualWithTargets(ReadFileOrDie(root + "/docs/manual.md"));
    if (!manual.ok()) {
      std::cerr << manual.status() << "\n";
      return 1;
    }
    files.push_back(*manual);
  }
  for (const GeneratedFile& file : files) {
    const std::filesystem::path path = std::filesystem::path(root) / file.path;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << file.bytes;
    std::cout << "wrote " << file.path << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::cerr << "run it as ./bazelw run //tests/docs:update\n";
    return 2;
  }
  const bool models = argc > 1 && absl::string_view(argv[1]) == "--models";
  return fixpoint::WriteGenerated(workspace, models);
}
