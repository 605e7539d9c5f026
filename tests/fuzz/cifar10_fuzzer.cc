// Any bytes as a batch of CIFAR-10, once alone and once after a copy of itself.

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/data/cifar10.h"
#include "tests/fuzz/image_set_check.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fixpoint::MemoryFile& file = *new fixpoint::MemoryFile;
  const std::string path = file.PathTo({reinterpret_cast<const char*>(data), size});
  fixpoint::CheckImageSet(fixpoint::LoadCifar10({path}));
  fixpoint::CheckImageSet(fixpoint::LoadCifar10({path, path}));
  return 0;
}
