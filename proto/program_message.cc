#include "proto/program_message.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace fixpoint {
namespace {

constexpr size_t kHugePageBytes = size_t{1} << 21;
constexpr size_t kLargestHugeBlock = size_t{1} << 25;
constexpr size_t kLargestBlock = size_t{1} << 26;

// Blocks grow with the program. Those of middling size ask for huge pages, because the kernel's
// faults, one per 4 KiB, else cost as much as a quarter of reading a program of ten thousand ops;
// of the largest, finding huge pages and clearing them costs more than it saves.
void* AllocateBlock(size_t size) {
  void* block = nullptr;
  if (size < kHugePageBytes || size > kLargestHugeBlock) {
    block = std::malloc(size);
  } else {
    const size_t pages = (size + kHugePageBytes - 1) / kHugePageBytes;
    block = std::aligned_alloc(kHugePageBytes, pages * kHugePageBytes);
    if (block != nullptr) madvise(block, pages * kHugePageBytes, MADV_HUGEPAGE);
  }
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void FreeBlock(void* block, size_t) { std::free(block); }

google::protobuf::ArenaOptions Options() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = size_t{1} << 14;
  options.max_block_size = kLargestBlock;
  options.block_alloc = &AllocateBlock;
  options.block_dealloc = &FreeBlock;
  return options;
}

}  // namespace

ProgramMessage::ProgramMessage()
    : arena_(std::make_unique<google::protobuf::Arena>(Options())),
      message_(google::protobuf::Arena::CreateMessage<ProgramDesc>(arena_.get())) {}

ProgramMessage::ProgramMessage(const ProgramDesc& program) : ProgramMessage() {
  *message_ = program;
}

}  // namespace fixpoint
