#include "runtime/kernels/lookup.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
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

TEST(LookUp, WantsRowsOrThePadding) {
  TableShape shape = {/*rows=*/3, /*width=*/1, /*padding=*/std::nullopt};
  for (const int64_t id : {-1, 3}) EXPECT_FALSE(CheckIds(shape, {id}).ok()) << id;
  shape.padding = 7;
  for (const int64_t id : {0, 2, 7}) EXPECT_TRUE(CheckIds(shape, {id}).ok()) << id;
}

// As dequantizing the table first does, with offsets and without, one or one for each row.
TEST(LookUp, MakesNumbersOfCodes) {
  constexpr int64_t kRows = 5;
  const std::vector<int64_t> ids = {4, 0, 2, 2, 1};
  for (const int64_t width : {1, 7, 32, 65}) {
    const TableShape shape = {kRows, width, /*padding=*/2};
    std::vector<int8_t> codes(kRows * width);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(37 * i - 128);
    const std::vector<float> scales = {0.3f, 1.7f, 0.011f, 1e-20f, 250.0f};
    const std::vector<int32_t> offsets = {-128, 3, 0, 7, 127};
    const auto is_right = [&](const RowScales& rows) {
      std::vector<float> out(ids.size() * width, -1.0f);
      LookUp(shape, codes, rows, ids, absl::MakeSpan(out));
      for (size_t i = 0; i < out.size(); ++i) {
        const int64_t id = ids[i / width];
        const int64_t row = rows.scales.size() == 1 ? 0 : id;
        const int64_t offset = rows.offsets.empty() ? 0 : rows.offsets[row];
        const int64_t difference = codes[id * width + i % width] - offset;
        const float scaled = static_cast<float>(difference) * rows.scales[row];
        const float number = scaled / static_cast<float>(rows.largest_code);
        if (out[i] != (id == shape.padding ? 0 : number)) return false;
      }
      return true;
    };
    EXPECT_TRUE(is_right({scales, {}, 127})) << width;
    EXPECT_TRUE(is_right({scales, offsets, 1})) << width;
    EXPECT_TRUE(is_right({absl::MakeConstSpan(scales).first(1), {}, 7})) << width;
  }
}

TEST(LookUp, ChecksIds) {
  EXPECT_TRUE(CheckIds({3, 1, 7}, {0, 2, 7}).ok());
  EXPECT_EQ(CheckIds({3, 1, -1}, {0, 3}), absl::InvalidArgumentError("an id is 3; want 0 to 2"));
  EXPECT_EQ(CheckIds({3, 1, 1}, {-2}), absl::InvalidArgumentError("an id is -2; want 0 to 2"));
}

}  // namespace
}  // namespace fixpoint::kernels
