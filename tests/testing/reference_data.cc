#include "tests/testing/reference_data.h"

#include <glog/logging.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace fixpoint {

std::string ReferencePath(absl::string_view name) {
  const char* runfiles = std::getenv("TEST_SRCDIR");
  const std::string path =
      absl::StrCat(runfiles != nullptr ? runfiles : "..", "/reference_data/", name);
  return std::filesystem::exists(path) ? path : "";
}

std::vector<std::string> ReferencePrograms() {
  std::vector<std::string> paths;
  const std::string models = ReferencePath("models");
  if (models.empty()) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           models, std::filesystem::directory_options::follow_directory_symlink)) {
    const std::string path = entry.path().string();
    const absl::string_view stem = absl::StripSuffix(path, ".gz");
    if (absl::EndsWith(stem, "__model__") || absl::EndsWith(stem, ".pdmodel") ||
        absl::EndsWith(stem, ".program")) {
      paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string ReadFileOrDie(const std::string& path) {
  // gzread reads a file that is not gzipped as it is.
  gzFile file = gzopen(path.c_str(), "rb");
  CHECK(file != nullptr) << path;
  std::string bytes;
  char buffer[1 << 16];
  for (int n; (n = gzread(file, buffer, sizeof(buffer))) > 0;) bytes.append(buffer, n);
  CHECK_EQ(gzclose(file), Z_OK) << path;
  return bytes;
}

}  // namespace fixpoint
