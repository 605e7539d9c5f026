#include "tests/command_fuzz/seed_programs.h"

#include <glog/logging.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "proto/file/program_file.h"
#include "proto/text/program_text.h"
#include "tests/testing/golden.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> FilesBelow(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

ProgramDesc ParseOrDie(const std::string& text, const std::string& name) {
  absl::StatusOr<ProgramDesc> program = ParseProgramText(text, name);
  CHECK(program.ok()) << program.status();
  return *std::move(program);
}

// Nothing where no startup program of that name is there.
std::optional<ProgramDesc> LoadStartup(const std::string& path) {
  if (!fs::exists(path)) return std::nullopt;
  const absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
  if (!loaded.ok()) return std::nullopt;
  return *loaded->program;
}

std::vector<SeedProgram> Examples() {
  std::vector<SeedProgram> seeds;
  for (const fs::path& path : FilesBelow("examples/data", ".txt")) {
    if (!absl::EndsWith(path.string(), ".train.txt")) continue;
    SeedProgram& seed = seeds.emplace_back();
    seed.name = path.string();
    seed.program = ParseOrDie(Read(path), seed.name);
    seed.startup = LoadStartup(absl::StrReplaceAll(seed.name, {{".train.", ".startup."}}));
  }
  return seeds;
}

std::vector<SeedProgram> Goldens() {
  std::vector<SeedProgram> seeds;
  for (const fs::path& path : FilesBelow("tests/golden", ".txt")) {
    const absl::StatusOr<Golden> golden = ParseGolden(Read(path), path.string());
    CHECK(golden.ok()) << golden.status();
    SeedProgram& seed = seeds.emplace_back();
    seed.name = path.string();
    seed.program = ParseOrDie(*golden->Section("program"), seed.name);
    if (const std::string* startup = golden->Section("startup")) {
      seed.startup = ParseOrDie(*startup, seed.name);
    }
    if (const std::string* parameters = golden->Section("parameters")) {
      absl::StatusOr<Scope> scope = ParseParameters(*parameters, seed.name);
      CHECK(scope.ok()) << scope.status();
      seed.parameters = *std::move(scope);
    }
    seed.settings.insert(golden->settings.begin(), golden->settings.end());
  }
  return seeds;
}

std::vector<SeedProgram> ReferenceSeeds() {
  std::vector<SeedProgram> seeds;
  for (const std::string& path : ReferencePrograms()) {
    const absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
    if (!loaded.ok()) continue;  // one is of a layout that nobody reads
    SeedProgram& seed = seeds.emplace_back();
    seed.name = path;
    seed.program = *loaded->program;
    if (absl::StrContains(path, "train_main")) {
      seed.startup = LoadStartup(absl::StrReplaceAll(path, {{"train_main", "train_startup"}}));
    }
  }
  return seeds;
}

}  // namespace

Seeds LoadSeeds(bool with_reference) {
  Seeds seeds;
  seeds.examples = Examples();
  seeds.goldens = Goldens();
  if (with_reference) seeds.reference = ReferenceSeeds();
  for (const SeedProgram& golden : seeds.goldens) {
    const auto config = golden.settings.find("config");
    if (config != golden.settings.end()) seeds.configs.push_back(config->second);
  }
  seeds.configs.push_back(Read("examples/data/rules.textproto"));
  for (const fs::path& path : FilesBelow("transpiler/plan/targets", ".textproto")) {
    seeds.targets.push_back(Read(path));
  }
  for (const char* path :
       {"examples/data/small_target.textproto", "examples/int32_bias.textproto"}) {
    seeds.targets.push_back(Read(path));
  }
  return seeds;
}

}  // namespace fixpoint
