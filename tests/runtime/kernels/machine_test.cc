#include "runtime/kernels/machine.h"

#include <gtest/gtest.h>

namespace fixpoint::kernels {
namespace {

TEST(Machine, HasCachesThatGrow) {
  const Machine& machine = ThisMachine();
  EXPECT_GE(machine.first_cache, 16 << 10);
  EXPECT_LT(machine.first_cache, machine.second_cache);
  EXPECT_LT(machine.second_cache, machine.last_cache);
}

// A chunk lies in the second cache together with two panels of weights.
TEST(Machine, HasRoomForWhatAKernelKeeps) {
  for (const Machine& machine : {Machine(), ThisMachine()}) {
    EXPECT_LT(machine.block_bytes(), machine.first_cache);
    EXPECT_LT(machine.chunk_bytes() + 2 * machine.near_bytes(), machine.second_cache);
    EXPECT_TRUE(machine.IsInCache(static_cast<double>(machine.second_cache)));
    EXPECT_FALSE(machine.IsInCache(static_cast<double>(machine.second_cache) + 1));
    EXPECT_FALSE(machine.IsOutOfCache(machine.second_cache));
    EXPECT_TRUE(machine.IsOutOfCache(machine.last_cache));
  }
}

}  // namespace
}  // namespace fixpoint::kernels
