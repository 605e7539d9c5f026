#include "tests/fuzz/memory_file.h"

#include <glog/logging.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace fixpoint {

MemoryFile::MemoryFile() : descriptor_(memfd_create("fuzz", 0)) { CHECK_GE(descriptor_, 0); }

MemoryFile::~MemoryFile() { close(descriptor_); }

std::string MemoryFile::PathTo(absl::string_view bytes) const {
  CHECK_EQ(ftruncate(descriptor_, 0), 0);
  CHECK_EQ(pwrite(descriptor_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return absl::StrCat("/proc/self/fd/", descriptor_);
}

}  // namespace fixpoint
