// Writes every golden file as the code now makes it; read the difference as you would read code.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/testing/golden.h"

int main() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::cerr << "run it as ./bazelw run //tests/golden:update\n";
    return 2;
  }
  int status = 0;
  const std::filesystem::path folder = std::filesystem::path(workspace) / "tests/golden";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    const std::string path = entry.path().string();
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const auto golden = fixpoint::ParseGolden(text, path);
    const auto made = golden.ok() ? fixpoint::Regenerate(*golden, path) : golden;
    if (!made.ok()) {
      std::cerr << path << ": " << made.status() << "\n";
      status = 1;
      continue;
    }
    const std::string now = fixpoint::PrintGolden(*made);
    if (now == text) continue;
    std::ofstream(path) << now;
    std::cout << "wrote " << path << "\n";
  }
  return status;
}
