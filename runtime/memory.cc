#include "runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {

int64_t Aligned(int64_t bytes) {
  constexpr int64_t kAlignment = kMemoryAlignment;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

absl::StatusOr<Memory> AllocateMemory(int64_t bytes, absl::string_view what) {
  const bool fills_page = static_cast<size_t>(bytes) >= kHugePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, fills_page ? kHugePage : kMemoryAlignment,
                     static_cast<size_t>(Aligned(std::max<int64_t>(bytes, 1)))) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no memory for ", bytes, " bytes of ", what));
  }
  // If the system has no huge pages, ordinary ones do.
  if (fills_page) madvise(memory, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return Memory(static_cast<uint8_t*>(memory));
}

MemoryBlock::MemoryBlock(int64_t bytes) {
  absl::StatusOr<Memory> memory = AllocateMemory(bytes, "a block");
  if (!memory.ok()) return;
  next_ = memory->get();
  left_ = Aligned(bytes);
  memory_ = std::shared_ptr<uint8_t>(memory->release(), FreeMemory());
}

std::shared_ptr<uint8_t> MemoryBlock::Take(int64_t bytes) {
  if (Aligned(bytes) > left_) return nullptr;
  uint8_t* const part = next_;
  next_ += Aligned(bytes);
  left_ -= Aligned(bytes);
  return {memory_, part};
}

}  // namespace fixpoint
