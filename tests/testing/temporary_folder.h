// A folder of a test's own, gone when the test is.

#ifndef FIXPOINT_TESTS_TESTING_TEMPORARY_FOLDER_H_
#define FIXPOINT_TESTS_TESTING_TEMPORARY_FOLDER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fixpoint {

class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  // The path of `name` in the folder; of the folder itself where there is none.
  std::string Path(absl::string_view name = "") const;

  // Writes a file and the sub-folders that it needs; returns its path.
  std::string Write(absl::string_view name, absl::string_view bytes) const;
  std::string Read(absl::string_view name) const;

  // Every file below the folder, relative to it, hidden ones too, sorted.
  std::vector<std::string> Files() const;

 private:
  std::string path_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_TEMPORARY_FOLDER_H_
