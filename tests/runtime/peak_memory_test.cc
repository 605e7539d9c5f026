#include "runtime/peak_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace fixpoint {
namespace {

TEST(PeakMemory, IsThatOfMemoryThatIsGivenBack) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  const int64_t before = PeakMemoryBytes();
  { const std::vector<uint8_t> taken(kBytes, 1); }
  const int64_t after = PeakMemoryBytes();
  EXPECT_GT(before, 0);
  EXPECT_GT(after, before + kBytes / 2);
  EXPECT_LT(after, before + 2 * kBytes);
}

}  // namespace
}  // namespace fixpoint
