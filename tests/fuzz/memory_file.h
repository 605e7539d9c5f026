// A file without a disk, for what is read by its path.

#ifndef FIXPOINT_TESTS_FUZZ_MEMORY_FILE_H_
#define FIXPOINT_TESTS_FUZZ_MEMORY_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fixpoint {

class MemoryFile {
 public:
  MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  // A path to a regular file of these bytes, until it is called again.
  std::string PathTo(absl::string_view bytes) const;

 private:
  const int descriptor_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_FUZZ_MEMORY_FILE_H_
