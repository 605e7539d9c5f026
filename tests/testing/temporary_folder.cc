#include "tests/testing/temporary_folder.h"

#include <glog/logging.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace fixpoint {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  path_ = (fs::temp_directory_path() / "fixpoint_test_XXXXXX").string();
  PCHECK(mkdtemp(&path_[0]) != nullptr) << path_;
}

TemporaryFolder::~TemporaryFolder() { fs::remove_all(path_); }

std::string TemporaryFolder::Path(absl::string_view name) const {
  return name.empty() ? path_ : absl::StrCat(path_, "/", name);
}

std::string TemporaryFolder::Write(absl::string_view name, absl::string_view bytes) const {
  const std::string path = Path(name);
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  CHECK(file.flush()) << path;
  return path;
}

std::string TemporaryFolder::Read(absl::string_view name) const {
  std::ifstream file(Path(name), std::ios::binary);
  CHECK(file) << Path(name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> TemporaryFolder::Files() const {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    if (!entry.is_directory()) files.push_back(entry.path().lexically_relative(path_).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace fixpoint
