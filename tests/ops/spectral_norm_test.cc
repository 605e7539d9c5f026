#include "ops/spectral_norm.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

std::string Told(DimsView weight, int64_t axis) {
  const absl::StatusOr<SpectralMatrix> matrix = SpectralMatrix::Of(weight, axis);
  if (!matrix.ok()) return std::string(matrix.status().message());
  return absl::StrCat(matrix->rows, " rows of ", matrix->columns, ": ", matrix->blocks,
                      " blocks of ", matrix->inner);
}

TEST(SpectralMatrix, HasTheRowsOfAnAxis) {
  EXPECT_EQ(Told({4, 3, 2}, 1), "3 rows of 8: 4 blocks of 2");
  EXPECT_EQ(Told({4, 3, 2}, 0), "4 rows of 6: 1 blocks of 6");
  EXPECT_EQ(Told({4, 3, 2}, 3), "dim is 3 and Weight [4, 3, 2]; want an axis of it");
  EXPECT_EQ(Told({4, 3, 2}, -1), "dim is -1 and Weight [4, 3, 2]; want an axis of it");
}

// Nothing is to be done for each of the 2^40 blocks.
TEST(SpectralMatrix, OfNoElementsHasNoBlocks) {
  constexpr int64_t kMany = int64_t{1} << 40;
  EXPECT_EQ(Told({kMany, 3, 0}, 1), "3 rows of 0: 0 blocks of 0");
  EXPECT_EQ(Told({kMany, kMany, 3, 0}, 2), "3 rows of 0: 0 blocks of 0");
  EXPECT_EQ(Told({0, 3}, 0), "0 rows of 3: 1 blocks of 3");
  EXPECT_EQ(Told({0, kMany, kMany}, 0),
            "a tensor [1099511627776, 1099511627776] has more elements than an int64 holds");
}

TEST(SpectralMatrix, KnowsWhereElementsAre) {
  const absl::StatusOr<SpectralMatrix> matrix = SpectralMatrix::Of({4, 3, 2}, 1);
  ASSERT_TRUE(matrix.ok());
  EXPECT_EQ(matrix->At(0, 1), 1);
  EXPECT_EQ(matrix->At(1, 0), 2);
  EXPECT_EQ(matrix->At(2, 3), 11);
}

}  // namespace
}  // namespace fixpoint
