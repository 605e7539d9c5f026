#include "proto/wire/program_message.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace fixpoint {
namespace {

constexpr size_t kPageBytes = size_t{1} << 12;
constexpr size_t kLargestBlock = size_t{1} << 20;

// Large blocks get their pages at once: the kernel's faults, one per 4 KiB, else cost as much as a
// quarter of reading a program of ten thousand ops. Huge pages would cost less still where there
// are warm ones, but several times as much in a virtual machine that gives free memory back.
void* AllocateBlock(size_t size) {
  void* block = nullptr;
  if (size < kLargestBlock) {
    block = std::malloc(size);
  } else {
    const size_t pages = (size + kPageBytes - 1) / kPageBytes;
    block = std::aligned_alloc(kPageBytes, pages * kPageBytes);
#ifdef MADV_POPULATE_WRITE
    if (block != nullptr) madvise(block, pages * kPageBytes, MADV_POPULATE_WRITE);
#endif
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
