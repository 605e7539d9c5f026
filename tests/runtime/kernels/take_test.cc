// Entries by their places along an axis.

#include "runtime/kernels/take.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

absl::Status TakeInts(const Lines& lines, const std::vector<int32_t>& from,
                      const std::vector<int64_t>& places, std::vector<int32_t>* to) {
  to->resize(lines.outer * places.size() * lines.inner);
  return Take<int32_t, int64_t>(lines, from, places, absl::MakeSpan(*to));
}

TEST(Take, TakesEntriesAlongAnAxis) {
  const std::vector<int32_t> x = {1, 2, 3, 4, 5, 6};
  std::vector<int32_t> taken;
  ASSERT_TRUE(TakeInts({1, 3, 2}, x, {2, 0, 2}, &taken).ok());
  EXPECT_EQ(taken, (std::vector<int32_t>{5, 6, 1, 2, 5, 6}));
  ASSERT_TRUE(TakeInts({2, 3, 1}, x, {1}, &taken).ok());
  EXPECT_EQ(taken, (std::vector<int32_t>{2, 5}));
  ASSERT_TRUE(TakeInts({2, 3, 1}, x, {}, &taken).ok());
  EXPECT_TRUE(taken.empty());
}

TEST(Take, SaysWhatIsNoPlace) {
  std::vector<int32_t> taken;
  EXPECT_EQ(TakeInts({1, 3, 1}, {1, 2, 3}, {0, 3}, &taken),
            absl::InvalidArgumentError("Index has 3; want 0 to 2"));
  EXPECT_EQ(TakeInts({1, 3, 1}, {1, 2, 3}, {-1}, &taken),
            absl::InvalidArgumentError("Index has -1; want 0 to 2"));
}

}  // namespace
}  // namespace fixpoint::kernels
