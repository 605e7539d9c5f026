// Memory of tensors, constants and intermediate values.

#ifndef FIXPOINT_RUNTIME_MEMORY_H_
#define FIXPOINT_RUNTIME_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// A cache line, and the widest vector register.
inline constexpr size_t kMemoryAlignment = 64;
// Memory of this size and more goes into huge pages: the size of one on x86.
inline constexpr size_t kHugePage = 2 << 20;

// `bytes`, rounded up to the next place where a tensor may begin.
int64_t Aligned(int64_t bytes);

struct FreeMemory {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t[], FreeMemory>;
// Aligned; in huge pages, if it fills some and the system has them: a network reads more memory
// than a processor can map with small pages, and the system hands out small ones one at a time.
// Error (kFailedPrecondition): there is none; `what` is for the message.
absl::StatusOr<Memory> AllocateMemory(int64_t bytes, absl::string_view what);

// Memory that is handed out part by part, and exists as long as one of the parts.
class MemoryBlock {
 public:
  // With `bytes` bytes, if the system has them.
  explicit MemoryBlock(int64_t bytes);

  // The next part, of `bytes` bytes and aligned; null if fewer are left.
  std::shared_ptr<uint8_t> Take(int64_t bytes);

 private:
  std::shared_ptr<uint8_t> memory_;
  int64_t left_ = 0;
  uint8_t* next_ = nullptr;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_MEMORY_H_
