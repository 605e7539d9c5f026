#include "runtime/kernels/lookup.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fixpoint::kernels {
namespace {

TEST(LookUp, GathersRowsAndSumsTheirGradients) {
  constexpr int64_t kWidth = 37;
  const TableShape shape = {3, kWidth, 1};
  std::vector<float> table(3 * kWidth);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i + 1);
  const std::vector<int64_t> ids = {2, 0, 1, 2};
  ASSERT_TRUE(CheckIds(shape, ids).ok());
  std::vector<float> out(4 * kWidth);
  LookUp(shape, table, ids, absl::MakeSpan(out));
  std::vector<float> dtable(3 * kWidth);
  LookUpBackward(shape, ids, out, absl::MakeSpan(dtable));
  for (int64_t j = 0; j < kWidth; ++j) {
    const float first = table[j];
    const float last = table[2 * kWidth + j];
    EXPECT_EQ(out[j], last);
    EXPECT_EQ(out[kWidth + j], first);
    EXPECT_EQ(out[2 * kWidth + j], 0);
    EXPECT_EQ(dtable[j], first);
    EXPECT_EQ(dtable[kWidth + j], 0);
    EXPECT_EQ(dtable[2 * kWidth + j], 2 * last);
  }
}

TEST(LookUp, ChecksIds) {
  EXPECT_TRUE(CheckIds({3, 1, 7}, {0, 2, 7}).ok());
  EXPECT_EQ(CheckIds({3, 1, -1}, {0, 3}), absl::InvalidArgumentError("an id is 3; want 0 to 2"));
  EXPECT_EQ(CheckIds({3, 1, 1}, {-2}), absl::InvalidArgumentError("an id is -2; want 0 to 2"));
}

}  // namespace
}  // namespace fixpoint::kernels
