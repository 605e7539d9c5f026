// Writes every table of bad input as the tools now answer it; read the difference as you would read
// code.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/hostile/hostile_case.h"

int main() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::cerr << "run it as ./bazelw run //tests/hostile:update\n";
    return 2;
  }
  // `bazel run` starts a program in its runfiles, as a test.
  setenv("TEST_SRCDIR", std::filesystem::current_path().parent_path().c_str(), 1);
  int status = 0;
  const std::filesystem::path folder = std::filesystem::path(workspace) / "tests/hostile/cases";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    auto table = fixpoint::ParseHostileTable(text, path);
    if (!table.ok()) {
      std::cerr << table.status() << "\n";
      status = 1;
      continue;
    }
    for (fixpoint::HostileCase& c : table->cases) {
      const auto made = fixpoint::RunHostileCase(*table, c);
      if (made.ok()) {
        c = *made;
      } else {
        std::cerr << path << ": " << made.status() << "\n";
        status = 1;
      }
    }
    const std::string now = fixpoint::PrintHostileTable(*table);
    if (now == text) continue;
    std::ofstream(path) << now;
    std::cout << "wrote " << path << "\n";
  }
  return status;
}
