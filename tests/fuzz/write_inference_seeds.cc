// Writes what goldens of lowering become as seeds of inference_model_fuzzer:
//
//   ./bazelw run //tests/fuzz:write_inference_seeds -- FOLDER GOLDEN...
//
// as absolute paths, such as those of tests/fuzz/seeds/inference_model and
// tests/golden/lower/*.txt.

#include <glog/logging.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "tests/testing/golden.h"
#include "tests/testing/parameter_text.h"

namespace fixpoint {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file) << path;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

std::string CombinedParameters(const Program& program, const std::string& text,
                               const std::string& path) {
  const absl::StatusOr<Scope> scope = ParseParameters(text, "parameters");
  CHECK(scope.ok()) << scope.status();
  absl::StatusOr<AtomicFile> file = StageCombinedParameters(program.Proto(), *scope, path);
  CHECK(file.ok() && file->Commit().ok()) << file.status();
  return Read(path);
}

void WriteSeed(const std::string& golden_path, const std::string& folder) {
  const absl::StatusOr<Golden> golden = ParseGolden(Read(golden_path), golden_path);
  CHECK(golden.ok()) << golden.status();
  const std::string& text = *golden->Section("becomes");
  const absl::StatusOr<Program> program = ParseGoldenProgram(text, golden_path);
  CHECK(program.ok()) << program.status();
  const std::string stem = std::filesystem::path(golden_path).stem();
  const std::string path = absl::StrCat(folder, "/", stem, ".bin");
  const std::string parameters =
      CombinedParameters(*program, *golden->Section("parameters become"), path);
  std::ofstream(path, std::ios::binary) << text << "----\n" << parameters;
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  for (int i = 2; i < argc; ++i) fixpoint::WriteSeed(argv[i], argv[1]);
  return 0;
}
