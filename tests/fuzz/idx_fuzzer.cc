// Any bytes as the images and as the labels of a data set in MNIST's format.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/data/idx.h"
#include "tests/fuzz/image_set_check.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Two images of one pixel, and two labels.
  constexpr absl::string_view kImages("\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\1\5\6", 18);
  constexpr absl::string_view kLabels("\0\0\x08\x01\0\0\0\2\7\7", 10);
  static const fixpoint::MemoryFile& file = *new fixpoint::MemoryFile;
  static const fixpoint::MemoryFile& other = *new fixpoint::MemoryFile;
  const std::string path = file.PathTo({reinterpret_cast<const char*>(data), size});
  fixpoint::CheckImageSet(fixpoint::LoadIdx(path, other.PathTo(kLabels)));
  fixpoint::CheckImageSet(fixpoint::LoadIdx(other.PathTo(kImages), path));
  return 0;
}
