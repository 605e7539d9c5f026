#include "runtime/tensor_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Elements of 16 bits, which have no C++ type.
Tensor Of16Bits(VarType::Type dtype, const std::vector<uint16_t>& elements) {
  Tensor tensor = *Tensor::Allocate(dtype, {static_cast<int64_t>(elements.size())});
  std::memcpy(tensor.mutable_bytes().data(), elements.data(), tensor.bytes().size());
  return tensor;
}

TEST(Summarize, GivesSmallestLargestMeanAndTheFirst) {
  const TensorSummary summary =
      Summarize(Tensor::FromValues<float>({2, 2}, {0.5f, -3, 2, 1.5f}), /*first=*/3);
  ASSERT_TRUE(summary.range);
  EXPECT_EQ(summary.range->smallest, -3);
  EXPECT_EQ(summary.range->largest, 2);
  EXPECT_EQ(summary.range->mean, 0.25);
  EXPECT_EQ(summary.not_finite, 0);
  EXPECT_THAT(summary.first, ElementsAre(0.5, -3, 2));
}

TEST(Summarize, CountsWhatIsNotFiniteApart) {
  const TensorSummary summary =
      Summarize(Tensor::FromValues<float>({4}, {kNaN, 1, kInfinity, 2}), /*first=*/0);
  ASSERT_TRUE(summary.range);
  EXPECT_EQ(summary.range->smallest, 1);
  EXPECT_EQ(summary.range->largest, 2);
  EXPECT_EQ(summary.range->mean, 1.5);
  EXPECT_EQ(summary.not_finite, 2);
}

TEST(Summarize, HasNoRangeWhereNothingIsFiniteOrThereIsNothing) {
  EXPECT_FALSE(Summarize(Tensor::FromValues<float>({1}, {kNaN}), /*first=*/1).range);
  EXPECT_FALSE(Summarize(Tensor::FromValues<float>({0}, {}), /*first=*/1).range);
}

TEST(Summarize, ReadsIntegersAndBools) {
  EXPECT_THAT(Summarize(Tensor::FromValues<int8_t>({3}, {-128, 127, 0}), 3).first,
              ElementsAre(-128, 127, 0));
  EXPECT_THAT(Summarize(Tensor::FromValues<uint8_t>({1}, {255}), 1).first, ElementsAre(255));
  EXPECT_THAT(Summarize(Tensor::FromValues<int64_t>({1}, {-(int64_t{1} << 40)}), 1).first,
              ElementsAre(-std::ldexp(1.0, 40)));
  EXPECT_EQ(Summarize(Tensor::FromValues<bool>({4}, {true, false, true, true}), 0).range->mean,
            0.75);
}

// 1, -2, the smallest subnormal, the largest, infinity; by the standard's tables.
TEST(Summarize, ReadsHalves) {
  const TensorSummary summary =
      Summarize(Of16Bits(VarType::FP16, {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00}), 5);
  EXPECT_THAT(summary.first, ElementsAre(1, -2, std::ldexp(1.0, -24), 65504,
                                         std::numeric_limits<double>::infinity()));
  EXPECT_EQ(summary.not_finite, 1);
}

TEST(Summarize, ReadsBfloat16) {
  EXPECT_THAT(Summarize(Of16Bits(VarType::BF16, {0x3f80, 0xc000, 0x4049}), 3).first,
              ElementsAre(1, -2, 3.140625));
}

TEST(Summarize, OfComplexNumbersIsEmpty) {
  const TensorSummary summary =
      Summarize(Tensor::FromValues<std::complex<float>>({1}, {{1, 2}}), /*first=*/1);
  EXPECT_FALSE(summary.range);
  EXPECT_THAT(summary.first, IsEmpty());
}

}  // namespace
}  // namespace fixpoint
