#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/status/status.h"

namespace fixpoint {
namespace {

bool IsAligned(const uint8_t* memory) {
  return reinterpret_cast<uintptr_t>(memory) % kMemoryAlignment == 0;
}

TEST(AllocateMemory, IsAlignedAndIsRefusedWhereThereIsNone) {
  const absl::StatusOr<Memory> memory = AllocateMemory(kHugePage + 1, "a test");
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_TRUE(IsAligned(memory->get()));
  const int64_t most = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_EQ(
      AllocateMemory(most, "a test").status(),
      absl::FailedPreconditionError("there is no memory for 4611686018427387903 bytes of a test"));
}

TEST(MemoryBlock, GivesAlignedPartsBesideEachOtherWhileItHasSome) {
  MemoryBlock block(200);
  const std::shared_ptr<uint8_t> first = block.Take(1);
  const std::shared_ptr<uint8_t> second = block.Take(65);
  EXPECT_TRUE(IsAligned(first.get()));
  EXPECT_EQ(second.get(), first.get() + kMemoryAlignment);
  EXPECT_EQ(block.Take(65), nullptr);
}

TEST(MemoryBlock, HasAPartOfAllItsBytes) {
  MemoryBlock block(100);
  EXPECT_NE(block.Take(100), nullptr);
  EXPECT_EQ(block.Take(100), nullptr);
}

TEST(MemoryBlock, IsThereAsLongAsAPart) {
  std::shared_ptr<uint8_t> part;
  {
    MemoryBlock block(128);
    block.Take(64);
    part = block.Take(64);
  }
  std::memset(part.get(), 7, 64);
  EXPECT_EQ(part.get()[63], 7);
}

TEST(MemoryBlock, HasNothingToGiveWhereThereIsNoMemory) {
  MemoryBlock block(std::numeric_limits<int64_t>::max() / 2);
  EXPECT_EQ(block.Take(64), nullptr);
}

}  // namespace
}  // namespace fixpoint
